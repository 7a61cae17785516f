//! The classes of stall, one module each. Each says, from the facts that it is given, whether it fits, who had to act,
//! and what in the packets shows it.

pub(super) mod capture_gap;
pub(super) mod client_idle;
pub(super) mod delayed_ack;
pub(super) mod fast_retransmit;
pub(super) mod late_ack;
pub(super) mod path_delay;
pub(super) mod rto;
pub(super) mod sender_held;
pub(super) mod sender_waited;
pub(super) mod server_think;
pub(super) mod small_window;
pub(super) mod syn_ignored;
pub(super) mod syn_retry;
pub(super) mod synack_retry;
pub(super) mod tail_loss;
pub(super) mod unanswered;
pub(super) mod zero_window;

use plimsoll_model::packet::{Flags, Segment};

use super::gap::{Gap, LateAck};
use super::handshake::Handshake;
use super::recovery::{Recovery, Trigger};
use super::rtt::Rtt;
use super::time;
use plimsoll_model::trace::{Actor, Class};

/// A class that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) class: Class,
    pub(super) waiting_for: Actor,
    pub(super) evidence: String,
}

/// The class of a silence, as far as the packets around it show it.
pub(super) struct OfGap {
    pub(super) finding: Finding,
    /// What it is if most silences of its kind show that it is not what it looks like.
    pub(super) otherwise: Option<Finding>,
}

/// The class of a silence that data, FIN or RST ended. The order matters: what the packets prove comes before what is
/// left when nothing is proven.
pub(super) fn of_gap(gap: &Gap) -> OfGap {
    if let Some(finding) = zero_window::judge_shrunk(gap).or_else(|| small_window::judge(gap)) {
        return OfGap { finding, otherwise: None };
    }
    let plain = || {
        unanswered::judge(gap)
            .or_else(|| server_think::judge(gap))
            .or_else(|| client_idle::judge(gap))
            .unwrap_or_else(|| sender_waited::judge(gap))
    };
    if let Some(idle) = client_idle::judge_closed(gap) {
        let (finding, other) = if idle.is_likely { (idle.finding, plain()) } else { (plain(), idle.finding) };
        return OfGap { finding, otherwise: Some(other) };
    }
    match sender_held::judge(gap) {
        Some(held) if held.is_sure => OfGap { finding: held.finding, otherwise: None },
        Some(held) => OfGap { finding: held.finding, otherwise: Some(plain()) },
        None => OfGap { finding: plain(), otherwise: None },
    }
}

/// The class of a silence that nothing ended, by who spoke last: `length` ns in which the next word was the other side's.
pub(super) fn of_turn(spoke_last: Option<Actor>, length: u64) -> Finding {
    let (class, waiting_for, after) = match spoke_last {
        Some(Actor::Client) => (Class::ServerThink, Actor::Server, "the client's data"),
        Some(_) => (Class::ClientIdle, Actor::Client, "the server's data"),
        None => (Class::ClientIdle, Actor::Client, "the handshake"),
    };
    let evidence = format!("neither side sent data for {:.1} ms after {after}", time::ms(length));
    Finding { class, waiting_for, evidence }
}

/// The class of a silence that an acknowledgement ended.
pub(super) fn of_late_ack(late: &LateAck) -> Option<Finding> {
    zero_window::judge_ack(late)
        .or_else(|| small_window::judge_ack(late))
        .or_else(|| delayed_ack::judge(late))
}

/// The class of a loss. `sender` lost it.
pub(super) fn of_recovery(recovery: &Recovery, sender: Actor, rtt: Option<Rtt>) -> Finding {
    match recovery.trigger {
        Trigger::Reported => fast_retransmit::judge(recovery, sender),
        Trigger::TailTimer => tail_loss::judge(recovery, sender),
        Trigger::Timer => rto::judge(recovery, sender, rtt),
    }
}

/// A silence of `length` ns that a SYN or SYN-ACK ended, until the handshake is judged as a whole.
pub(super) fn of_open_handshake(segment: &Segment, syns: u32, length: u64) -> Finding {
    let is_answer = segment.flags.has(Flags::ACK);
    let (class, what) = match (is_answer, syns) {
        (false, _) => (Class::SynRetry, "a SYN was retransmitted"),
        (true, 0 | 1) => (Class::ServerThink, "the SYN-ACK came"),
        (true, _) => (Class::SynRetry, "a SYN-ACK came at last"),
    };
    Finding {
        class,
        waiting_for: Actor::Server,
        evidence: format!("{what} after {:.1} ms", time::ms(length)),
    }
}

/// A retransmission of a flight that was lost before it reached the capture. `missing` packets of the sender are not in it.
pub(super) fn of_unseen_flight(gap: &Gap, missing: u16, sender: Actor, rtt: Option<Rtt>) -> Finding {
    let is_whole_flight = u32::from(missing) <= gap.segment.payload.div_ceil(gap.segment_size.max(1)).max(1);
    let trigger = if is_whole_flight { Trigger::TailTimer } else { Trigger::Timer };
    let finding = of_recovery(&Recovery::in_one_step(gap, trigger), sender, rtt);
    let lost = match missing {
        1 => "a packet that it sent before was".to_owned(),
        count => format!("{count} packets that it sent before were"),
    };
    let evidence = format!(
        "the {sender} sent {} after {:.1} ms; {lost} lost before the capture point (gap in the IP identification), so this is a retransmission",
        ended_by(gap),
        time::ms(gap.length())
    );
    Finding { evidence, ..finding }
}

/// The stalls of a handshake: from, to, and the class.
pub(super) fn of_handshake(handshake: &Handshake) -> Vec<(u64, u64, Finding)> {
    syn_ignored::judge(handshake)
        .or_else(|| syn_retry::judge(handshake))
        .into_iter()
        .chain(synack_retry::judge(handshake))
        .collect()
}

/// The parts of a handshake without retries that took longer than these limits in nanoseconds: from, to, and the class.
pub(super) fn of_slow_handshake(
    handshake: &Handshake,
    limits: [u64; 2],
    rtt: Option<Rtt>,
) -> Vec<(u64, u64, Finding)> {
    if (handshake.syns, handshake.synacks) != (1, 1) {
        return Vec::new();
    }
    let Handshake { first_syn, first_synack, .. } = *handshake;
    let parts = [
        (first_syn, Some(first_synack), Actor::Server, Class::ServerThink, "the SYN-ACK"),
        (
            first_synack,
            handshake.done,
            Actor::Client,
            Class::ClientIdle,
            "the acknowledgement of the SYN-ACK",
        ),
    ];
    let slow = parts.into_iter().zip(limits).filter_map(|((from, to, waiting_for, class, what), limit)| {
        let length = to?.checked_sub(from).filter(|length| *length > limit)?;
        let later = rtt.map_or(String::new(), |rtt| {
            format!("; the shortest round trip took {:.1} ms", time::ms(rtt.lowest))
        });
        let evidence = format!("{what} came after {:.1} ms{later}", time::ms(length));
        Some((from, from + length, Finding { class, waiting_for, evidence }))
    });
    slow.collect()
}

/// The client or the server.
pub(super) fn side(is_client: bool) -> Actor {
    if is_client { Actor::Client } else { Actor::Server }
}

/// The side that ended a gap.
fn ender(gap: &Gap) -> Actor {
    side(gap.by_client)
}

/// The side that did not end a gap.
fn other(gap: &Gap) -> Actor {
    side(!gap.by_client)
}

/// What ended a gap, in words.
fn ended_by(gap: &Gap) -> String {
    let flags = gap.segment.flags;
    match gap.segment.payload {
        _ if flags.has(Flags::RST) => "a reset".to_owned(),
        0 if flags.has(Flags::FIN) => "a FIN".to_owned(),
        payload => bytes(payload),
    }
}

/// A number of bytes, in words.
fn bytes(count: u32) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

/// Bytes that waited for their acknowledgement, as the subject of a sentence in the past tense.
fn were(count: u32) -> String {
    match count {
        0 => "the data was".to_owned(),
        1 => "1 byte was".to_owned(),
        _ => format!("{count} bytes were"),
    }
}

#[cfg(test)]
pub(super) mod fixture {
    //! A gap to start from: 250 ms, ended by a full segment of the server after its own, with nothing in its way.

    use plimsoll_model::packet::{Flags, Segment};

    use crate::stalls::gap::LastData;
    use crate::stalls::gap::{Gap, LastWord};
    use crate::stalls::rtt::Rtt;
    use crate::stalls::time::MILLISECOND;

    pub(in crate::stalls) fn gap() -> Gap {
        Gap {
            start: 0,
            end: 250 * MILLISECOND,
            by_client: false,
            segment: Segment { payload: 1448, flags: Flags::ACK, ..Segment::default() },
            last_word: LastWord::Own,
            own_data: Some(LastData { payload: 1000, pushed: true }),
            in_flight: 0,
            usable_window: Some(65_536),
            window: Some(65_536),
            largest_window: 65_536,
            segment_size: 1448,
            other_closed: false,
            answered: 1,
            one_way: false,
            rtt: Some(Rtt { smoothed: MILLISECOND, lowest: MILLISECOND, rto: 201 * MILLISECOND }),
            free_since: 0,
            felt: MILLISECOND,
        }
    }
}
