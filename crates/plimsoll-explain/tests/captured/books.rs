//! What the packets of a capture say by themselves, and what must hold for every report of it: no time counts twice, and none goes missing.

use std::collections::BTreeMap;

use plimsoll_explain::stalls::{ConnectionReport, TraceReport};
use plimsoll_model::packet::{Flags, Packet, Segment, Transport};

/// A silence that is longer than this, and than some round trips, has a reason that must be named.
const SILENCE_S: f64 = 0.1;

/// When the packets of a connection were seen, in seconds after the first packet of the file, by its two ends in order.
#[derive(Default)]
pub(crate) struct Clock {
    first_ns: Option<u64>,
    seen: BTreeMap<(String, String), Vec<f64>>,
    /// What each end has sent so far, by sender and receiver: the sequence number after it.
    sent: BTreeMap<(String, String), u32>,
    /// When either end sent something for the second time, by the two ends in order.
    sent_again: BTreeMap<(String, String), Vec<f64>>,
}

impl Clock {
    #[expect(clippy::cast_precision_loss, reason = "captures of minutes, to the microsecond")]
    pub(crate) fn packet(&mut self, packet: &Packet) {
        let first = *self.first_ns.get_or_insert(packet.time_ns);
        if let Transport::Tcp(segment) = &packet.transport {
            let at = packet.time_ns.saturating_sub(first) as f64 / 1e9;
            let ends = (packet.source.to_string(), packet.destination.to_string());
            if self.is_sent_again(&ends, segment) {
                self.sent_again.entry(ordered(ends.clone())).or_default().push(at);
            }
            self.seen.entry(ordered(ends)).or_default().push(at);
        }
    }

    /// Whether a segment takes up sequence numbers that its sender has used before. A keep-alive does not: it carries nothing, or one old byte.
    fn is_sent_again(&mut self, ends: &(String, String), segment: &Segment) -> bool {
        let length = segment.end().wrapping_sub(segment.seq);
        let next = *self.sent.entry(ends.clone()).or_insert(segment.seq);
        // A distance of less than half of all numbers is forward (RFC 9293, 3.4).
        let is_new = segment.end().wrapping_sub(next) <= i32::MAX as u32;
        if is_new {
            self.sent.insert(ends.clone(), segment.end());
        }
        let is_old = next.wrapping_sub(segment.seq).wrapping_sub(1) < i32::MAX as u32;
        is_old && (length > 1 || segment.flags.any(Flags::SYN.with(Flags::FIN)))
    }

    /// Whether something was sent for the second time in this stretch of a connection, in seconds after the first packet of the file.
    pub(crate) fn sends_again(&self, connection: &ConnectionReport, (from, to): (f64, f64)) -> bool {
        let ends = ordered((connection.client.clone(), connection.server.clone()));
        self.sent_again.get(&ends).is_some_and(|all| all.iter().any(|at| (from..=to).contains(at)))
    }

    /// Every fault in the accounts of a report; `slack_s` is the round trip of the link.
    pub(crate) fn audit(&self, report: &TraceReport, slack_s: f64) -> Vec<String> {
        let mut faults = Vec::new();
        let mut by_class: BTreeMap<String, f64> = BTreeMap::new();
        let mut lifetimes = 0.0;
        for connection in &report.connections {
            lifetimes += connection.duration_s;
            for stall in &connection.stalls {
                *by_class.entry(stall.class.name().to_owned()).or_default() += stall.length_ms / 1e3;
            }
            let who = format!("{} > {}", connection.client, connection.server);
            faults.extend(self.silences(connection, slack_s).into_iter().map(|it| format!("{who}: {it}")));
            faults.extend(overlaps(connection).into_iter().map(|it| format!("{who}: {it}")));
            let stalled: f64 = connection.stalls.iter().map(|stall| stall.length_ms / 1e3).sum();
            if (stalled - connection.stalled_s).abs() > 1e-5 * (1.0 + stalled)
                || stalled > connection.duration_s + 1e-5
            {
                faults.push(format!(
                    "{who}: stalls of {stalled} s, {} s in all, in a lifetime of {} s",
                    connection.stalled_s, connection.duration_s
                ));
            }
        }
        if (lifetimes - report.lifetime_s).abs() > 1e-4 {
            faults.push(format!("lifetimes of {lifetimes} s are said to be {} s", report.lifetime_s));
        }
        for (class, share) in &report.time_share {
            let listed = by_class.remove(&class.to_string()).unwrap_or_default();
            if (listed - share * lifetimes).abs() > 1e-3 * lifetimes.max(1.0) {
                faults
                    .push(format!("{class}: {listed} s in stalls, but a share of {share} of {lifetimes} s"));
            }
        }
        faults.extend(by_class.into_iter().map(|(class, time)| format!("{class}: {time} s without a share")));
        faults
    }

    /// Stretches without a packet that no stall covers.
    fn silences(&self, connection: &ConnectionReport, slack_s: f64) -> Vec<String> {
        let ends = ordered((connection.client.clone(), connection.server.clone()));
        let Some(seen) = self.seen.get(&ends) else { return vec!["no packet was seen".to_owned()] };
        let quiet = seen.windows(2).filter(|pair| pair[1] - pair[0] > SILENCE_S + 2.0 * slack_s);
        let uncovered = quiet.filter(|pair| {
            let covered: f64 = connection
                .stalls
                .iter()
                .map(|stall| {
                    let end = stall.start_s + stall.length_ms / 1e3;
                    (end.min(pair[1]) - stall.start_s.max(pair[0])).max(0.0)
                })
                .sum();
            covered + slack_s + 0.01 < pair[1] - pair[0]
        });
        uncovered
            .map(|pair| format!("silent from {:.4} s to {:.4} s, and no stall says why", pair[0], pair[1]))
            .collect()
    }
}

fn ordered(ends: (String, String)) -> (String, String) {
    if ends.0 <= ends.1 { ends } else { (ends.1, ends.0) }
}

fn overlaps(connection: &ConnectionReport) -> Vec<String> {
    let mut spans: Vec<(f64, f64)> = connection
        .stalls
        .iter()
        .map(|stall| (stall.start_s, stall.start_s + stall.length_ms / 1e3))
        .collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    spans
        .windows(2)
        .filter(|pair| pair[1].0 < pair[0].1 - 1e-5)
        .map(|pair| format!("stalls overlap: {pair:?}"))
        .collect()
}
