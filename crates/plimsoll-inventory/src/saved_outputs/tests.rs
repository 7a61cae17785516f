//! The samples are the programs' own output; how they were made stands in tests/saved_outputs/generate.py.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Expectation, compare_saved};
use super::{SavedOutputError, SavedOutputs, read};

macro_rules! sample {
    ($name:literal) => {
        ($name, include_str!(concat!("../../tests/saved_outputs/", $name)))
    };
}

const DMESG: (&str, &str) = sample!("dmesg.txt");
const DMIDECODE: (&str, &str) = sample!("dmidecode.txt");
const DIMMS: (&str, &str) = sample!("decode-dimms.txt");
const ETHTOOL: (&str, &str) = sample!("ethtool.txt");
const HDPARM: (&str, &str) = sample!("hdparm.txt");
const LSPCI: (&str, &str) = sample!("lspci.txt");
const MAIL: (&str, &str) = sample!("mail-of-2001.txt");
const SMARTCTL: (&str, &str) = sample!("smartctl.json");
const ALL: [(&str, &str); 8] = [DMESG, DMIDECODE, DIMMS, ETHTOOL, HDPARM, LSPCI, MAIL, SMARTCTL];

fn of(files: &[(&str, &str)]) -> SavedOutputs {
    read(files.iter().copied()).expect("known programs")
}

fn at<'p>(known: &'p SavedOutputs, path: &str) -> &'p Value {
    path.split('/')
        .fold(None, |value: Option<&Value>, name| match value {
            None => known.found.get(name),
            Some(value) => value.get(name),
        })
        .unwrap_or(&Value::Null)
}

#[test]
fn each_program_is_read() {
    for (file, path, expected) in [
        (DMESG, "cpus/model", json!("AMD QEMU Virtual CPU version 2.5+")),
        (DMESG, "memory/size", json!(464_472 * 1024)),
        (DMESG, "board/firmware_date", json!("04/01/2014")),
        (DMIDECODE, "virtualization/product", json!("PowerEdge R720")),
        (DMIDECODE, "cpus/cores", json!(16)),
        (DMIDECODE, "cpus/count", json!(32)),
        (HDPARM, "disks/disk/size", json!(256_060_514_304_u64)),
        (HDPARM, "disks/disk/transfer_mode", json!("udma6")),
        (HDPARM, "disks/disk/link/max_speed", json!(6000)),
        (LSPCI, "pci/0000:03:00.0/link/full", json!(false)),
        (LSPCI, "pci/0000:03:00.0/link/capacity", json!(4000.0)),
        (ETHTOOL, "networks/eth0/offloads/tso", json!(true)),
        (ETHTOOL, "networks/eth0/speed", Value::Null),
        (ETHTOOL, "pci/0000:00:03.0/driver", json!("virtio_net")),
        (SMARTCTL, "disks/sda/link", json!({"speed": 3000, "max_speed": 6000})),
        (SMARTCTL, "disks/sda/health/powered_hours", json!(31_244)),
    ] {
        assert_eq!(*at(&of(&[file]), path), expected, "{}: {path}", file.0);
    }
    let dimms = of(&[DMIDECODE]);
    let dimms = at(&dimms, "memory/dimms").as_array().expect("modules");
    assert_eq!(dimms.len(), 2, "an empty slot is no module");
    assert_eq!((&dimms[1]["speed"], &dimms[1]["configured_speed"]), (&json!(1333), &json!(1066)));
    let spd = of(&[DIMMS]);
    assert_eq!(
        *at(&spd, "memory/dimms"),
        json!([{"size": 4_294_967_296_u64, "vendor": "Samsung", "part": "M393B1K70DH0-YH9", "speed": 1333}])
    );
}

#[test]
fn a_mail_of_2001_reports_what_the_disk_suffered() {
    let known = of(&[MAIL]);
    assert_eq!(*at(&known, "kernel/release"), json!("2.4.5"));
    assert_eq!(*at(&known, "disks/hda/transfer_mode"), json!("UDMA(100)"));
    let log = at(&known, "kernel_log").as_array().expect("trouble");
    let kinds: Vec<_> = log.iter().map(|line| line["trouble"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["timeout", "timeout", "reset", "throttled"]);
}

#[test]
fn several_outputs_may_stand_in_one_file_and_the_first_value_counts() {
    let whole = [DMIDECODE, HDPARM, DIMMS, LSPCI].map(|(_, text)| text).join("\n");
    let known = of(&[("all.txt", &whole)]);
    let programs: Vec<_> = known.sources.iter().map(|source| source.program.as_str()).collect();
    assert_eq!(programs, ["dmidecode", "hdparm -I", "decode-dimms", "lspci"]);
    assert_eq!(at(&known, "memory/dimms").as_array().map(Vec::len), Some(2));
    assert!(known.conflicts[0].contains("those of dmidecode count"), "{:?}", known.conflicts);
}

#[test]
fn what_was_promised_is_held_against_saved_outputs() {
    let known = of(&[LSPCI, DMIDECODE]);
    let promised =
        Expectation::parse("pci.*.link.full = true\ncpus.count = 32\ndisks.sda.rotational = false\n")
            .expect("an expectation");
    let deviations = compare_saved(&promised, &known);
    let paths: Vec<_> = deviations.iter().map(|deviation| deviation.path.as_str()).collect();
    assert_eq!(paths, ["pci.\"0000:03:00.0\".link.full", "disks.sda.rotational"]);
}

#[test]
fn what_is_read_has_the_names_of_an_inventory() {
    let mut known = of(&ALL);
    // A list of tables is not compared as a value.
    for list in ["memory", "kernel_log"] {
        known.found.shift_remove(list);
    }
    let text = toml::to_string(&known.found).expect("TOML");
    let itself = Expectation::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(compare_saved(&itself, &known), []);
}

#[test]
fn a_number_that_no_machine_has_is_no_reason_to_stop() {
    let known =
        of(&[("x", "[    0.000000] Memory: 99999999999999999999k/99999999999999999999k available (1k)\n")]);
    assert_eq!(*at(&known, "memory/size"), json!(u64::MAX));
}

#[test]
fn a_file_of_something_else_is_refused() {
    let error = read([("poem.txt", "Es war einmal\nein Mann\n")]).expect_err("unknown");
    assert_eq!(error, SavedOutputError::Unknown { file: "poem.txt".to_owned() });
    assert!(matches!(read([("x", "{\"smartctl\": ")]), Err(SavedOutputError::Json { .. })));
}

proptest! {
    /// Lines that are cut, left out and moved, and numbers that no machine has, never stop the reading.
    #[test]
    fn damaged_outputs_do_not_stop_it(file in 0..ALL.len(), seed in any::<u64>(), cut in 0_usize..60) {
        let mut state = seed;
        let mut next = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % bound.max(1)
        };
        let mut lines: Vec<String> = ALL[file].1.lines().map(str::to_owned).collect();
        for _ in 0..cut {
            let (at, to) = (next(lines.len()), next(lines.len()));
            lines.swap(at, to);
            let kept = next(lines[at].chars().count() + 1);
            lines[at] = lines[at].chars().take(kept).collect();
            let digit = ["0", "9", "99999999999999999999"][next(3)];
            lines[to] = lines[to].replace(|c: char| c.is_ascii_digit(), digit);
        }
        let text = lines.join("\n");
        read([("damaged", text.as_str())]).ok();
    }
}
