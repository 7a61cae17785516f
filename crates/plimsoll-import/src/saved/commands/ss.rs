//! `ss` (iproute2): the summary of `ss -s`, and the tables of sockets with their details (`ss -ti`) or of listeners (`ss -ltn`).

use std::collections::BTreeMap;

use super::{Format, Out, Section, command_words, count, decimal};

pub(super) const SUMMARY: Format = Format {
    program: "ss -s",
    is_command: |command| has_option(command, 's'),
    starts: |lines| {
        lines[0].starts_with("Total: ") && lines.iter().take(3).any(|line| line.starts_with("TCP:"))
    },
    read: summary,
};
pub(super) const SOCKETS: Format = Format {
    program: "ss -tin",
    is_command: |command| command_words(command).0 == "ss" && !has_option(command, 's'),
    starts: |lines| heading(lines[0]).is_some(),
    read: sockets,
};

fn has_option(command: &str, option: char) -> bool {
    let (first, rest) = command_words(command);
    let short = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.contains(option);
    first == "ss" && rest.iter().any(short)
}

/// `TCP:   181 (estab 2, closed 170, orphaned 0, timewait 170)`, as connections by state; older versions write `synrecv` and `timewait 170/0`.
fn summary(section: &Section<'_>, out: &mut Out) {
    const STATES: [(&str, &str); 5] = [
        ("estab", "tcp.established"),
        ("closed", "tcp.closed"),
        ("orphaned", "machine.sockstat.TCP.orphan"),
        ("synrecv", "tcp.syn_recv"),
        ("timewait", "tcp.time_wait"),
    ];
    section.each(out, |line, reading| {
        if let Some((_, states)) = line.strip_prefix("TCP:").and_then(|rest| rest.split_once('(')) {
            for part in states.trim_end_matches([')', ' ']).split(", ") {
                let Some((state, value)) = part.split_once(' ') else { continue };
                let value = value.split('/').next().and_then(count);
                let known = STATES.iter().find(|(known, _)| *known == state);
                if let Some(((_, name), value)) = known.zip(value) {
                    reading.level(*name, value);
                }
            }
        } else if !["Total:", "Transport", "RAW", "UDP", "TCP", "INET", "FRAG", "*"]
            .iter()
            .any(|start| line.starts_with(start))
        {
            return None;
        }
        Some(())
    });
}

/// The places of the columns, where a line is the heading.
fn heading(line: &str) -> Option<Columns> {
    let line = line.replace("Recv-Q", " Recv-Q ").replace("Address:Port", "Address:Port ");
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let place = |wanted: &str| words.iter().position(|word| *word == wanted);
    let is_heading = matches!(words.first(), Some(&"State" | &"Netid" | &"Recv-Q"));
    is_heading.then_some(())?;
    Some(Columns { state: place("State"), receive: place("Recv-Q")?, send: place("Send-Q")? })
}

struct Columns {
    state: Option<usize>,
    receive: usize,
    send: usize,
}

/// A listener: connections that wait to be accepted, and how many may.
struct Listener {
    waiting: f64,
    backlog: f64,
}

fn sockets(section: &Section<'_>, out: &mut Out) {
    let mut columns = None;
    let mut listeners: BTreeMap<String, Vec<Listener>> = BTreeMap::new();
    let mut details = Details::default();
    section.each(out, |line, reading| {
        if let Some(found) = heading(line) {
            columns = Some(found);
            // A table without rows says that there is no socket.
            reading.add_level("sockets.unsent_bytes", 0.0);
            return Some(());
        }
        if line.starts_with([' ', '\t']) {
            details.add(line);
            return Some(());
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let at = |place: usize| words.get(place).copied();
        let of = columns.as_ref()?;
        let (receive, send) = (at(of.receive).and_then(count)?, at(of.send).and_then(count)?);
        let state = of.state.and_then(at).unwrap_or("ESTAB");
        reading.add_level(format!("tcp.{}", state_name(state)), 1.0);
        if state == "LISTEN" {
            let address = at(of.send + 1).unwrap_or_default();
            let listener = Listener { waiting: receive, backlog: send };
            listeners.entry(address.to_owned()).or_default().push(listener);
        } else {
            reading.add_level("sockets.unread_bytes", receive);
            reading.add_level("sockets.unsent_bytes", send);
        }
        // Newer versions can put the details into the same line.
        details.add(line);
        Some(())
    });
    of_listeners(&listeners, out);
    details.put(out);
}

fn state_name(state: &str) -> String {
    match state {
        "ESTAB" => "established".to_owned(),
        other => other.to_lowercase().replace('-', "_"),
    }
}

/// How full the fullest queue is, and how unevenly listeners of one port share what waits.
fn of_listeners(all: &BTreeMap<String, Vec<Listener>>, out: &mut Out) {
    let each = all.values().flatten();
    let full = each.filter(|it| it.backlog > 0.0).map(|it| 100.0 * it.waiting / it.backlog);
    out.reading.level("listen.fullest_share", full.max_by(f64::total_cmp));
    let waiting: f64 = all.values().flatten().map(|it| it.waiting).sum();
    if !all.is_empty() {
        out.reading.level("tcp.backlog", waiting);
    }
    let shared = all.values().filter(|listeners| listeners.len() > 1);
    let uneven = shared.filter_map(|listeners| {
        let sum: f64 = listeners.iter().map(|it| it.waiting).sum();
        let most = listeners.iter().map(|it| it.waiting).max_by(f64::total_cmp)?;
        let fair = 1.0 / listeners.len() as f64;
        // A common value is 0, a value of one side alone is 100 %.
        Some(if sum > 0.0 { 100.0 * (most / sum - fair) / (1.0 - fair) } else { 0.0 })
    });
    out.reading.level("listen.uneven_share", uneven.max_by(f64::total_cmp));
}

/// Fields of TCP_INFO, over all sockets.
#[derive(Default)]
struct Details {
    rtts: Vec<f64>,
    retransmitted: f64,
    limited: [f64; 2],
    busy: f64,
    /// Connections with details, and those of them with a part of a segment that waits for an acknowledgement (Nagle, RFC 896).
    connections: f64,
    held: f64,
    any: bool,
}

impl Details {
    fn add(&mut self, line: &str) {
        let (mut segment, mut window, mut unsent, mut unacknowledged) = (0.0, 0.0, 0.0, 0.0);
        for word in line.split_ascii_whitespace() {
            let Some((name, value)) = word.split_once(':') else { continue };
            let field = || count(value).unwrap_or(0.0);
            match name {
                "mss" => segment = field(),
                "cwnd" => window = field(),
                "notsent" => unsent = field(),
                "unacked" => unacknowledged = field(),
                "rtt" => self.rtts.extend(value.split('/').next().and_then(decimal)),
                "retrans" => self.retransmitted += value.split('/').nth(1).and_then(count).unwrap_or(0.0),
                "busy" => self.busy += milliseconds(value),
                "rwnd_limited" => self.limited[0] += milliseconds(value),
                "sndbuf_limited" => self.limited[1] += milliseconds(value),
                _ => continue,
            }
            self.any = true;
        }
        self.connections += f64::from(u8::from(window > 0.0));
        let is_held = unsent > 0.0 && unsent < segment && unacknowledged > 0.0 && unacknowledged < window;
        self.held += f64::from(u8::from(is_held));
    }

    fn put(&self, out: &mut Out) {
        if !self.any {
            return;
        }
        if self.connections > 0.0 {
            out.reading.level("tcp.held_share", 100.0 * self.held / self.connections);
        }
        out.reading.level("tcp_info.retransmits", self.retransmitted);
        let mut rtts = self.rtts.clone();
        rtts.sort_by(f64::total_cmp);
        out.reading.level("tcp_info.rtt_ms", rtts.get(rtts.len() / 2).copied());
        if self.busy > 0.0 {
            out.reading.level("tcp_info.window_limited_share", 100.0 * self.limited[0] / self.busy);
            out.reading.level("tcp_info.buffer_limited_share", 100.0 * self.limited[1] / self.busy);
        }
    }
}

/// `1234ms(98.7%)`.
fn milliseconds(value: &str) -> f64 {
    value.split("ms").next().and_then(count).unwrap_or(0.0)
}
