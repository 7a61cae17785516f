//! Promises of the list of formats.

use std::collections::BTreeSet;

use plimsoll_import::figures::{self, Checked, Options, formats};

use super::{names, text};

#[test]
fn names_are_unique_and_fit_a_command_line() {
    let all: BTreeSet<&str> = formats::ALL.iter().map(|format| format.name).collect();
    assert_eq!(all.len(), formats::ALL.len());
    assert!(
        all.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'))
    );
    assert!(formats::named("ab").is_ok());
    assert!(formats::named("abc").unwrap_err().to_string().contains("expected one of ab, "));
}

/// Every metric of the documentation must occur in a sample.
#[test]
fn what_a_format_documents_is_what_it_reads() {
    let mut read_of: BTreeSet<(&str, String)> = BTreeSet::new();
    for folder in ["samples", "documented", "pages"] {
        for name in names(folder) {
            // Nothing marks a table in a mail.
            let only = (name == "two-by-two.txt").then(|| "cross-table".to_owned());
            let options = Options { only, ..Options::default() };
            for series in figures::read(&text(folder, &name), &options).unwrap().series {
                let about = formats::named(series.format).unwrap().about(&series.metric);
                let about = about.unwrap_or_else(|| {
                    panic!("{name}: {} of {} is not documented", series.metric, series.format)
                });
                read_of.insert((series.format, about.metric.to_owned()));
            }
        }
    }
    let mut unseen = Vec::new();
    for format in formats::ALL.iter().filter(|format| format.elsewhere().is_none()) {
        for measured in format.measured() {
            let key = (format.name, measured.metric.to_owned());
            if !read_of.contains(&key) {
                unseen.push(key);
            }
        }
        for main in format.main {
            assert!(format.about(main.split(',').next().unwrap()).is_some(), "{main} of {}", format.name);
        }
    }
    assert!(unseen.is_empty(), "no fixture has {unseen:?}");
}

#[test]
fn a_format_whose_tool_was_run_has_a_sample() {
    let samples = names("samples");
    for format in formats::ALL {
        let tool = format.name.replace("iperf", "iperf2").replace("iperf23", "iperf3");
        let has = samples.iter().any(|name| name.starts_with(&tool));
        match format.checked {
            Checked::Run(_) | Checked::Kept(_) => {
                assert!(has || format.elsewhere().is_some(), "{} has no sample", format.name);
            }
            Checked::Documented(source) | Checked::Rule(source) => {
                assert!(!source.is_empty(), "{} names no source", format.name);
            }
        }
    }
}
