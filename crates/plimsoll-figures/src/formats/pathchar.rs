//! The output of `pathchar`: the hops of a path.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "pathchar",
    tool: "pathchar",
    command: "pathchar HOST",
    measured: &[
        "higher bits_per_second,hop Mbit/s: the rate of the link behind a hop; `??` is left out",
        "lower latency,hop ms: how long a packet of no length travels over that link, one way",
        "lower rtt,hop ms: in brackets: the round-trip time up to the end of that link",
        "lower queue,hop ms: `+q`",
        "lower loss,hop %: `dropped`",
        "higher bottleneck Mbit/s: `bottleneck` of the last line",
        "lower path_rtt ms: `rtt` of the last line",
        "plain hops: the last line",
        "plain pipe B: `pipe` of the last line",
    ],
    main: &["bottleneck"],
    checked: Checked::Documented("pathchar(1), `Typical Output` (binaries of 1997 only)"),
    marks: &["pathchar to ", "b/s,", "hops, rtt "],
    start: |line| {
        if line.text.starts_with("pathchar to ") {
            return Some(Start::Head);
        }
        (link(line.text).is_some() || line.text.contains("hops, rtt ")).then_some(Start::Within)
    },
    reader: Some(|_| Box::<Pathchar>::default()),
    ..Format::EMPTY
};

/// `|   8.7 Mb/s,   292 us (1.97 ms), +q 3.32 ms (6.58 KB) *2, 5% dropped`.
fn link(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('|')?.trim_start();
    let rate = rest.split(',').next()?;
    (rate.ends_with("b/s") || rate.ends_with(" b/s")).then_some(rest)
}

/// `8.7 Mb/s`.
fn rate(text: &str) -> Option<(f64, &'static str)> {
    let mut words = text.split_whitespace();
    let value = number(words.next()?)?;
    let its_unit = match words.next()? {
        "b/s" => "bit/s",
        "Kb/s" => "kbit/s",
        "Mb/s" => "Mbit/s",
        "Gb/s" => "Gbit/s",
        _ => return None,
    };
    Some((value, its_unit))
}

/// `292 us`.
fn time(text: &str) -> Option<(f64, &'static str)> {
    let mut words = text.split_whitespace();
    Some((number(words.next()?)?, unit::time(words.next()?.trim_end_matches(')'))?))
}

#[derive(Default)]
struct Pathchar {
    hop: Option<String>,
}

impl Reader for Pathchar {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(rest) = link(line.text) {
            let hop = self.hop.as_deref().map(|hop| ("hop", hop));
            of_link(rest, hop.as_slice(), out);
            return Fit::Mine;
        }
        if line.text.contains("hops, rtt ") {
            return whole(line.text, out);
        }
        let mut words = line.words();
        let first = words.next().unwrap_or_default();
        // ` 3 er1gw.lbl.gov (131.243.128.11)`, or ` 3 * * *` for a hop that did not answer
        if first.parse::<u32>().is_ok()
            && words.next().is_some_and(|name| name == "*" || name.contains(char::is_alphanumeric))
        {
            self.hop = Some(first.to_owned());
            return Fit::Mine;
        }
        const KNOWN: [&str; 4] = ["pathchar to ", "mtu limit", "doing ", "can't find path"];
        if KNOWN.iter().any(|known| line.text.starts_with(known)) { Fit::Mine } else { Fit::Foreign }
    }
}

fn of_link(rest: &str, labels: &[(&'static str, &str)], out: &mut Out<'_>) {
    for (index, part) in rest.split(", ").map(str::trim).enumerate() {
        match index {
            0 => {
                if let Some((value, its_unit)) = rate(part) {
                    out.put("bits_per_second", value, its_unit, labels);
                }
            }
            1 => {
                if let Some((value, its_unit)) = time(part) {
                    out.put("latency", value, its_unit, labels);
                }
                if let Some((value, its_unit)) = part.split_once('(').and_then(|(_, rest)| time(rest)) {
                    out.put("rtt", value, its_unit, labels);
                }
            }
            _ => {
                if let Some((value, its_unit)) = part.strip_prefix("+q").and_then(time) {
                    out.put("queue", value, its_unit, labels);
                } else if part.contains("dropped")
                    && let Some((value, behind)) = leading(part)
                    && behind.starts_with('%')
                {
                    out.put("loss", value, "%", labels);
                }
            }
        }
    }
}

/// `8 hops, rtt 42.5 ms (43 ms), bottleneck 9.1 Mb/s, pipe 33928 bytes`.
fn whole(text: &str, out: &mut Out<'_>) -> Fit {
    for part in text.split(", ").map(str::trim) {
        if let Some(value) = part.strip_suffix(" hops").and_then(number) {
            out.put("hops", value, "", &[]);
        } else if let Some((value, its_unit)) = part.strip_prefix("rtt ").and_then(time) {
            out.put("path_rtt", value, its_unit, &[]);
        } else if let Some((value, its_unit)) = part.strip_prefix("bottleneck ").and_then(rate) {
            out.put("bottleneck", value, its_unit, &[]);
        } else if let Some(value) =
            part.strip_prefix("pipe ").and_then(|rest| number(rest.strip_suffix(" bytes")?))
        {
            out.put("pipe", value, "B", &[]);
        }
    }
    Fit::Mine
}
