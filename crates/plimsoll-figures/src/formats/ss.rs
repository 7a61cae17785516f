//! The text of `ss -ti` (iproute2): what the kernel knows of TCP connections.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "ss",
    tool: "ss (iproute2)",
    command: "ss -ti",
    measured: &[
        "lower rtt,connection,stat ms: `rtt`: smoothed (`mean`) and its mean deviation (`variation`); `minrtt` (`min`)",
        "lower rto,connection ms: `rto`",
        "plain cwnd,connection segments: `cwnd`",
        "plain ssthresh,connection segments: `ssthresh`",
        "plain mss,connection B: `mss`",
        "higher rate,connection,of bit/s: `send`, `pacing_rate`, `delivery_rate`",
        "lower retransmits,connection: the second number of `retrans`: all so far",
        "plain bytes,connection,of B: `bytes_sent`, `bytes_acked`, `bytes_received`, `bytes_retrans`",
        "plain segments,connection,of: `segs_out`, `segs_in`, `data_segs_out`, `data_segs_in`",
        "plain limited,connection,by ms: `busy`, `rwnd_limited`, `sndbuf_limited`",
    ],
    main: &["rtt,stat=mean"],
    checked: Checked::Run("iproute2 6.1.0"),
    marks: &["Recv-Q", " cwnd:"],
    start: |line| {
        let heading = line.text.contains("Recv-Q") && line.text.contains("Send-Q");
        let facts = line.text.contains(" cwnd:") && line.text.contains("rto:");
        if heading { Some(Start::Head) } else { facts.then_some(Start::Within) }
    },
    reader: Some(|_| Box::<Ss>::default()),
    ..Format::EMPTY
};

/// Start of facts that may stand in a line of their own.
const WRAPPED: &[&str] = &[
    "bytes_",
    "segs_",
    "data_segs_",
    "delivery_rate",
    "pacing_rate",
    "retrans:",
    "minrtt:",
    "rcv_rtt:",
    "rcv_space:",
];

#[derive(Default)]
struct Ss {
    connection: String,
}

impl Reader for Ss {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let words: Vec<&str> = line.words().collect();
        if line.text.contains("Recv-Q") && line.text.contains("Send-Q") {
            return Fit::Mine;
        }
        let begins =
            |begin: &[&str]| words.iter().any(|word| begin.iter().any(|begin| word.starts_with(begin)));
        // Facts may be wrapped, by a terminal or by who pasted them.
        let facts = begins(&["rto:", "cwnd:"]) || !self.connection.is_empty() && begins(WRAPPED);
        // With `-O` the facts stand behind the connection.
        if facts && !is_connection(&words) {
            self.facts(&words, out);
            return Fit::Mine;
        }
        // `ESTAB 0 0 127.0.0.1:43804 127.0.0.1:8933`, the state only where several are shown.
        if !is_connection(&words) {
            return Fit::Foreign;
        }
        let [_, _, local, peer, rest @ ..] = columns(&words) else { return Fit::Foreign };
        self.connection = format!("{local} > {peer}");
        if facts {
            self.facts(rest, out);
        }
        Fit::Mine
    }
}

/// The columns behind the state, which stands there only where several are shown.
fn columns<'w, 't>(words: &'w [&'t str]) -> &'w [&'t str] {
    if words.first().is_some_and(|word| number(word).is_none()) { &words[1..] } else { words }
}

/// The unit of a rate. Versions before 5.0, and what was rewritten by hand, have prefixes.
fn rate_unit(word: &str) -> Option<&'static str> {
    const UNITS: [(&str, &str); 4] =
        [("bps", "bit/s"), ("Kbps", "kbit/s"), ("Mbps", "Mbit/s"), ("Gbps", "Gbit/s")];
    UNITS.iter().find(|(written, _)| *written == word).map(|(_, unit)| *unit)
}

fn is_connection(words: &[&str]) -> bool {
    matches!(columns(words), [receive, send, local, peer, ..]
        if number(receive).is_some() && number(send).is_some() && local.contains(':') && peer.contains(':'))
}

impl Ss {
    fn facts(&self, words: &[&str], out: &mut Out<'_>) {
        let connection = ("connection", self.connection.as_str());
        // `send 92104648649bps`: the name is the word before.
        for pair in words.windows(2) {
            if let (of @ ("send" | "pacing_rate" | "delivery_rate"), Some((value, rate))) =
                (pair[0], leading(pair[1]))
                && let Some(rate) = rate_unit(rate)
            {
                out.put("rate", value, rate, &[connection, ("of", of)]);
            }
        }
        for (name, value) in words.iter().filter_map(|word| word.split_once(':')) {
            let mut parts = value.split('/');
            let first = parts.next().and_then(leading);
            let second = parts.next().and_then(leading).map(|(value, _)| value);
            let Some((first, behind)) = first else { continue };
            match name {
                "rtt" => {
                    out.put("rtt", first, "ms", &[connection, ("stat", "mean")]);
                    out.put("rtt", second, "ms", &[connection, ("stat", "variation")]);
                }
                "minrtt" => out.put("rtt", first, "ms", &[connection, ("stat", "min")]),
                "rto" => out.put("rto", first, "ms", &[connection]),
                "cwnd" | "ssthresh" => out.put(name, first, "segments", &[connection]),
                "mss" => out.put("mss", first, "B", &[connection]),
                "retrans" => {
                    out.put("retransmits", second, "", &[connection]);
                }
                "bytes_sent" | "bytes_acked" | "bytes_received" | "bytes_retrans" => {
                    out.put("bytes", first, "B", &[connection, ("of", &name["bytes_".len()..])]);
                }
                "segs_out" | "segs_in" | "data_segs_out" | "data_segs_in" => {
                    out.put("segments", first, "", &[connection, ("of", name)]);
                }
                "busy" | "rwnd_limited" | "sndbuf_limited" if behind.starts_with("ms") => {
                    out.put("limited", first, "ms", &[connection, ("by", name)]);
                }
                _ => {}
            }
        }
    }
}
