//! The text and the JSON of `nstat` (iproute2): counters of the network stack.

use super::super::format::{Checked, Document, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::json::Json;
use super::super::line::Line;
use super::super::number::number;

pub(super) const FORMAT: Format = Format {
    name: "nstat",
    tool: "nstat (iproute2)",
    command: "nstat -a, nstat -a -j",
    measured: &[Measured::plain(
        "*",
        "",
        &["stat"],
        "each counter, by its name; the rate beside it, where one is shown, with `stat=rate` in 1/s",
    )],
    main: &["TcpRetransSegs"],
    checked: Checked::Run("iproute2 6.1.0"),
    text: Some(Text {
        marks: &["#kernel"],
        start: |line| (line.text == "#kernel").then_some(Start::Head),
        opening: None,
        reader: |_| Box::new(Nstat),
    }),
    json: Some(Document { is: is_document, read: document, by_line: false }),
    ..Format::EMPTY
};

/// Whether a name is one of a counter of the stack: `TcpExtTCPTimeouts`.
fn is_counter(name: &str) -> bool {
    ["Ip", "Icmp", "Tcp", "Udp", "MPTcp", "Sctp"].iter().any(|begin| name.starts_with(begin))
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

struct Nstat;

impl Reader for Nstat {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text == "#kernel" {
            return Fit::Mine;
        }
        let words: Vec<&str> = line.words().collect();
        let [name, value, rate @ ..] = words.as_slice() else { return Fit::Foreign };
        let Some(value) = number(value).filter(|_| is_counter(name) && rate.len() <= 1) else {
            return Fit::Foreign;
        };
        out.put(name, value, "", &[]);
        if let Some(rate) = rate.first().and_then(|rate| number(rate)) {
            out.put(name, rate, "1/s", &[("stat", "rate")]);
        }
        Fit::Mine
    }
}

fn is_document(json: &Json<'_>) -> bool {
    json.get("kernel").is_some_and(|kernel| kernel.fields().iter().any(|(name, _)| is_counter(name)))
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for (name, value) in json.get("kernel").map(|kernel| kernel.fields()).unwrap_or_default() {
        out.json(&name, Some(value), "", &[]);
    }
}
