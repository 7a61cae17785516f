//! The last line of `dd`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "dd",
    tool: "dd (coreutils)",
    command: "dd if=/dev/zero of=FILE bs=1M count=100",
    measured: &[
        "higher throughput MB/s: the rate at the end of the line, in powers of 1000",
        "plain transfer B: the bytes at its beginning",
        "plain duration s: the seconds",
    ],
    main: &["throughput"],
    checked: Checked::Kept("coreutils 9.1"),
    marks: &[" copied, ", "records in", "kopiert, ", "copiés, ", "copiados, ", "copiati, "],
    start: |line| if is_progress(line.text) { None } else { rules::start(LINES, line) },
    reader: Some(|_| Box::new(Dd { rules: rules::reader(LINES), ended: false })),
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "{transfer B} bytes ({...}) copied, {duration s} s, {throughput kB/s} kB/s",
    "{transfer B} bytes ({...}) copied, {duration s} s, {throughput MB/s} MB/s",
    "{transfer B} bytes ({...}) copied, {duration s} s, {throughput GB/s} GB/s",
    "{transfer B} bytes copied, {duration s} s, {throughput kB/s} kB/s",
    "{transfer B} Bytes ({...}) kopiert, {duration s} s, {throughput MB/s} MB/s",
    "{transfer B} Bytes ({...}) kopiert, {duration s} s, {throughput GB/s} GB/s",
    "{transfer B} octets ({...}) copiés, {duration s} s, {throughput MB/s} MB/s",
    "{transfer B} octets ({...}) copiés, {duration s} s, {throughput GB/s} GB/s",
    "{transfer B} bytes ({...}) copiados, {duration s} s, {throughput MB/s} MB/s",
    "{transfer B} bytes ({...}) copiados, {duration s} s, {throughput GB/s} GB/s",
    "{transfer B} byte ({...}) copiati, {duration s} s, {throughput MB/s} MB/s",
    "{transfer B} byte ({...}) copiati, {duration s} s, {throughput GB/s} GB/s",
    "^{_}+{_} records in",
    "-{_}+{_} records out",
];

/// `... copied, 11 s, 481 MB/s`, printed while dd runs (`status=progress`): its seconds are whole.
fn is_progress(text: &str) -> bool {
    let seconds = text.split_once(" copied, ").and_then(|(_, rest)| rest.split_once(" s,"));
    seconds.is_some_and(|(seconds, _)| seconds.bytes().all(|byte| byte.is_ascii_digit()))
}

struct Dd {
    rules: Box<dyn Reader>,
    /// Whether the next line is the last one, with the result.
    ended: bool,
}

impl Reader for Dd {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if is_progress(line.text) && !self.ended {
            return Fit::Mine;
        }
        self.ended = line.text.ends_with("records out");
        self.rules.line(line, out)
    }
}
