//! The text and the JSON of `nstat` (iproute2): counters of the network stack.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "nstat",
    tool: "nstat (iproute2)",
    command: "nstat -a, nstat -a -j",
    measured: &["plain *,stat: each counter by its name. A rate beside it has `stat=rate`, in 1/s"],
    main: &["TcpRetransSegs"],
    checked: Checked::Run("iproute2 6.1.0"),
    marks: &["#kernel", "TcpExt", "IpExt"],
    start: |line| match line.text {
        "#kernel" => Some(Start::Head),
        _ => row(line).and_then(|(.., rate)| rate).map(|_| Start::Within),
    },
    reader: Some(|_| Box::new(Nstat)),
    json: Some(Document::whole(is_document, document)),
    ..Format::EMPTY
};

/// Whether a name is one of a counter of the stack: `TcpExtTCPTimeouts`.
fn is_counter(name: &str) -> bool {
    ["Ip", "Icmp", "Tcp", "Udp", "MPTcp", "Sctp"].iter().any(|begin| name.starts_with(begin))
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `TcpExtTCPTimeouts  5  0.0`: the counter, its value, and the rate where one is shown.
fn row<'t>(line: &Line<'t>) -> Option<(&'t str, f64, Option<f64>)> {
    let words: Vec<&str> = line.words().collect();
    let (name, value, rate) = match words.as_slice() {
        [name, value] => (name, value, None),
        [name, value, rate] => (name, value, Some(number(rate)?)),
        _ => return None,
    };
    is_counter(name).then(|| Some((*name, number(value)?, rate)))?
}

struct Nstat;

impl Reader for Nstat {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text == "#kernel" {
            return Fit::Mine;
        }
        let Some((name, value, rate)) = row(line) else { return Fit::Foreign };
        out.put(name, value, "", &[]);
        out.put(name, rate, "1/s", &[("stat", "rate")]);
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
