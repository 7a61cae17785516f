//! Several blocks of one tool in one text: each is a call of its own, and no values of two are one.

use std::collections::BTreeMap;

use plimsoll_import::figures::Figures;

use super::{names, read, text};

/// Separators of two blocks: a heading, and the fences of Markdown.
const BETWEEN: [&str; 2] = ["\n\nAfter the change:\n\n", "\n```\n\nAfter\n```\n"];

/// Runs and values of each figure.
fn points(found: &Figures) -> BTreeMap<String, Vec<(u32, f64)>> {
    let points = |series: &plimsoll_import::figures::Series| {
        let points = series.points.iter().map(|point| (point.run, point.value));
        (format!("{} {} {}", series.format, series.name(), series.unit), points.collect())
    };
    found.series.iter().map(points).collect()
}

#[test]
fn a_sample_that_stands_twice_in_a_text_is_two_calls() {
    for (folder, name) in ["samples", "documented"]
        .into_iter()
        .flat_map(|folder| names(folder).into_iter().map(move |name| (folder, name)))
    {
        let once = text(folder, &name);
        let first = points(&read(&once));
        for between in BETWEEN {
            let twice = points(&read(&format!("{}{between}{once}", once.trim_end())));
            for (figure, values) in &first {
                let both = &twice[figure];
                assert_eq!(both.len(), 2 * values.len(), "{name}: {figure}");
                let (before, after) = both.split_at(values.len());
                let runs: Vec<u32> = before.iter().map(|(run, _)| *run).collect();
                assert!(after.iter().all(|(run, _)| !runs.contains(run)), "{name}: {figure} is pooled");
                for of in [before, after] {
                    assert!(
                        of.iter().map(|(_, value)| value).eq(values.iter().map(|(_, value)| value)),
                        "{name}: {figure}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_heading_of_each_call_is_kept() {
    let found = read(&text("documented", "calls.txt"));
    let titles: Vec<(&str, u32, Option<&str>)> =
        found.coverage.calls.iter().map(|call| (call.format, call.run, call.title.as_deref())).collect();
    assert_eq!(
        titles,
        [
            ("pgbench", 1, Some("$ pgbench -c 64 -T 60 -C bench")),
            ("pgbench", 2, Some("With a pool")),
            ("pgbench", 3, None),
            ("go-bench", 1, Some("Before:")),
            ("go-bench", 2, Some("After:")),
            ("go-bench", 3, None),
            ("go-bench", 4, None),
        ]
    );
}

/// Iterations of one call, with a line of a log between them, are repetitions.
#[test]
fn a_line_between_iterations_does_not_part_them() {
    let row = "BenchmarkSum-8   1000   11.0 ns/op\n";
    let found = read(&format!("{row}warning: the disk is full\n{row}{row}\n[...]\n\n{row}"));
    let runs: Vec<u32> = found.one("time").unwrap().points.iter().map(|point| point.run).collect();
    assert_eq!(runs, [1; 4]);
}
