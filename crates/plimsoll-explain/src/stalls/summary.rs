//! From connections that have ended to the report.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plimsoll_model::packet::{CaptureSummary, Endpoint};
use plimsoll_model::units::counted;

use super::Limits;
use super::connection::Connection;
use super::half::Half;
use super::time::{SECOND, ms, seconds};
use super::time_sequence::Choice;
use super::timeline::{ClassTimes, Entry};
use plimsoll_model::trace::Class;
use plimsoll_model::trace::{
    ConnectionReport, DirectionReport, HandshakeReport, PacketsTooBig, Stall, TRACE_SCHEMA, TraceReport,
};

/// The connections that have ended: the sums of all, and those to list.
pub(super) struct Summary {
    limits: Limits,
    connections: u64,
    lifetime: u64,
    times: ClassTimes,
    may_be: ClassTimes,
    ended: Vec<Connection>,
    left_out: u64,
    acked_unseen: u64,
    scale_unknown: u64,
    pub(super) evicted: u64,
    pub(super) duplicates: u64,
}

impl Summary {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            connections: 0,
            lifetime: 0,
            times: ClassTimes::default(),
            may_be: ClassTimes::default(),
            ended: Vec::new(),
            left_out: 0,
            acked_unseen: 0,
            scale_unknown: 0,
            evicted: 0,
            duplicates: 0,
        }
    }

    /// Adds a connection that has ended, or that is open at `capture_end`.
    pub(super) fn add(&mut self, mut connection: Connection, capture_end: Option<u64>) {
        connection.finish(capture_end);
        self.connections += 1;
        self.lifetime += connection.last - connection.first;
        for (sum, time) in self.times.iter_mut().zip(connection.stalls.times) {
            *sum += time;
        }
        for (sum, time) in self.may_be.iter_mut().zip(connection.stalls.may_be) {
            *sum += time;
        }
        self.acked_unseen += connection.halves.iter().map(|half| half.track.counts.acked_unseen).sum::<u64>();
        let has_data = connection.halves.iter().any(|half| half.bytes > 0);
        self.scale_unknown += u64::from(has_data && !connection.scale_known());
        self.ended.push(connection);
        // Sorting at twice the limit costs each connection but a constant.
        if self.ended.len() >= 2 * self.limits.listed.max(1) {
            self.cut();
        }
    }

    /// Keeps the connections with the most stall time, up to the length of the list.
    fn cut(&mut self) {
        if self.ended.len() > self.limits.listed {
            self.ended.sort_by_key(|connection| std::cmp::Reverse(connection.stalls.total()));
            self.left_out += (self.ended.len() - self.limits.listed) as u64;
            self.ended.truncate(self.limits.listed);
        }
    }

    /// The report, in which times count from `begin`, and the connections selected for time-sequence graphs.
    pub(super) fn report(
        mut self,
        capture: CaptureSummary,
        begin: u64,
        (udp_flows, more_udp): (u64, bool),
        time_sequences: usize,
    ) -> (TraceReport, Choice) {
        self.cut();
        self.ended.sort_by_key(|connection| connection.first);
        let names: BTreeMap<IpAddr, &str> =
            capture.names.iter().map(|(address, name)| (*address, name.as_str())).collect();
        let connections =
            self.ended.iter().map(|connection| connection_report(connection, begin, &names)).collect();
        let mut missing = capture.missing;
        self.state_missing(&mut missing, more_udp);
        let choice = Choice::among(&self.ended, begin, time_sequences);
        let report = TraceReport {
            schema: TRACE_SCHEMA.to_owned(),
            format: capture.format,
            packets: capture.packets,
            bytes: capture.bytes,
            dropped: capture.dropped,
            missing,
            tcp_connections: self.connections,
            udp_flows,
            connections,
            lifetime_s: seconds(self.lifetime),
            time_share: self.shares(&self.times),
            may_be_share: self.shares(&self.may_be),
        };
        (report, choice)
    }

    fn state_missing(&self, missing: &mut Vec<String>, more_udp: bool) {
        if self.acked_unseen > 0 {
            missing.push(match self.acked_unseen {
                1 => "1 acknowledgement covers data that the capture lacks".to_owned(),
                count => format!("{count} acknowledgements cover data that the capture lacks"),
            });
        }
        if self.scale_unknown > 0 {
            missing.push(format!(
                "the window scale is unknown for {} of {}, as the capture lacks the handshake; windows are not judged there",
                self.scale_unknown,
                counted(self.connections, "connection")
            ));
        }
        if self.duplicates > 0 {
            missing.push(format!(
                "{} more than once in the capture (several interfaces or capture points); each was counted once",
                if self.duplicates == 1 { "1 packet is".to_owned() } else { format!("{} packets are", self.duplicates) }
            ));
        }
        if self.evicted > 0 {
            missing.push(format!(
                "more than {} connections were open at once: {} count as ended early, and again if they continued",
                self.limits.followed, self.evicted
            ));
        }
        if self.left_out > 0 {
            missing.push(format!(
                "{} connections with the least stall time are not listed; the shares include them",
                self.left_out
            ));
        }
        if more_udp {
            missing.push("there are too many UDP flows to list each".to_owned());
        }
    }

    fn shares(&self, times: &ClassTimes) -> BTreeMap<Class, f64> {
        let stalled = Class::ALL.iter().copied().zip(*times).filter(|&(_, time)| time > 0);
        stalled.map(|(class, time)| (class, time as f64 / self.lifetime.max(1) as f64)).collect()
    }
}

fn connection_report(
    connection: &Connection,
    begin: u64,
    names: &BTreeMap<IpAddr, &str>,
) -> ConnectionReport {
    let (client, server) = (connection.client, 1 - connection.client);
    let [from_client, from_server] = [&connection.halves[client], &connection.halves[server]];
    let duration = connection.last - connection.first;
    let bytes = from_client.bytes + from_server.bytes;
    let rtt = connection.rtt();
    ConnectionReport {
        client: endpoint(connection.endpoints[client], names),
        server: endpoint(connection.endpoints[server], names),
        start_s: seconds(connection.first.saturating_sub(begin)),
        duration_s: seconds(duration),
        packets: from_client.packets + from_server.packets,
        bytes,
        rate_bytes_per_s: (duration > 0).then(|| bytes as f64 * SECOND as f64 / duration as f64),
        rtt_ms: rtt.map(|rtt| ms(rtt.smoothed)),
        rtt_min_ms: rtt.map(|rtt| ms(rtt.lowest)),
        handshake: handshake_report(connection),
        packets_too_big: connection
            .too_big
            .map(|too_big| PacketsTooBig { reports: too_big.count, mtu: too_big.mtu }),
        from_client: direction_report(from_client),
        from_server: direction_report(from_server),
        stalled_s: seconds(connection.stalls.total()),
        stall_count: connection.stalls.count,
        stalls: connection
            .stalls
            .entries
            .iter()
            .map(|entry| Stall {
                start_s: seconds(entry.start.saturating_sub(begin)),
                length_ms: ms(entry.end - entry.start),
                class: entry.finding.class,
                may_be: entry.may_be,
                waiting_for: entry.finding.waiting_for,
                evidence: entry.finding.evidence.clone() + &too_big_within(connection, entry),
            })
            .collect(),
    }
}

/// A router's report that explains a loss, as an addition to its evidence.
fn too_big_within(connection: &Connection, entry: &Entry) -> String {
    let is_loss = matches!(entry.finding.class, Class::Rto | Class::TailLoss | Class::FastRetransmit);
    match connection.too_big {
        Some(too_big) if is_loss && entry.start <= too_big.first && too_big.first <= entry.end => {
            format!("; a router had reported that the packet was too big (ICMP, MTU {})", too_big.mtu)
        }
        _ => String::new(),
    }
}

/// The name that the file had in place of the address, or the address.
fn endpoint(endpoint: Endpoint, names: &BTreeMap<IpAddr, &str>) -> String {
    match names.get(&endpoint.address) {
        Some(name) => format!("{name}:{}", endpoint.port),
        None => endpoint.to_string(),
    }
}

fn handshake_report(connection: &Connection) -> HandshakeReport {
    let handshake = &connection.handshake;
    HandshakeReport {
        complete: handshake.round_trip().is_some(),
        refused: handshake.is_refused,
        syns: handshake.syns,
        synacks: handshake.synacks,
        took_ms: handshake.round_trip().map(ms),
        window_scale_known: connection.scale_known(),
        sack: connection.halves.iter().all(|half| half.sack_permitted),
    }
}

fn direction_report(half: &Half) -> DirectionReport {
    let counts = half.track.counts;
    DirectionReport {
        packets: half.packets,
        bytes: half.bytes,
        retransmissions: counts.retransmissions,
        fast_retransmissions: counts.fast,
        spurious_retransmissions: counts.spurious,
        out_of_order: counts.out_of_order,
        duplicate_acks: counts.duplicate_acks,
        lost_segments: counts.lost_segments,
        acked_unseen: counts.acked_unseen,
        zero_windows: counts.zero_windows,
        selective_acks: counts.selective_acks,
        mss: half.mss,
        window_scale: half.offered_shift,
    }
}
