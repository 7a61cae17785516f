//! The last line of `dd`.

use super::super::format::{Checked, Format, Measured, Text};
use super::super::rules;

pub(super) const FORMAT: Format = Format {
    name: "dd",
    tool: "dd (coreutils)",
    command: "dd if=/dev/zero of=FILE bs=1M count=100",
    measured: &[
        Measured::higher("throughput", "MB/s", &[], "the rate at the end of the line, in powers of 1000"),
        Measured::plain("transfer", "B", &[], "the bytes at its beginning"),
        Measured::plain("duration", "s", &[], "the seconds"),
    ],
    main: &["throughput"],
    checked: Checked::Kept("coreutils 9.1"),
    text: Some(Text {
        marks: &[" copied, ", "records in"],
        start: |line| rules::start(LINES, line),
        opening: None,
        reader: |_| rules::reader(LINES),
    }),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "{transfer B} bytes ({...}) copied, {duration s} s, {throughput kB/s} kB/s",
    "{transfer B} bytes ({...}) copied, {duration s} s, {throughput MB/s} MB/s",
    "{transfer B} bytes ({...}) copied, {duration s} s, {throughput GB/s} GB/s",
    "{transfer B} bytes copied, {duration s} s, {throughput kB/s} kB/s",
    "^{_}+{_} records in",
    "-{_}+{_} records out",
];
