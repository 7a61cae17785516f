//! The beginning of a connection: SYN, SYN-ACK, acknowledgement.

use plimsoll_model::packet::{Flags, Segment};

/// How an earlier connection with the same addresses and ports stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Predecessor {
    /// When its last packet was seen.
    pub(super) last: u64,
    /// Whether it had been closed, as far as the capture tells.
    pub(super) closed: bool,
}

/// The packets of the handshake, as far as the capture holds them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handshake {
    pub(super) syns: u32,
    pub(super) first_syn: u64,
    pub(super) last_syn: u64,
    pub(super) isn: Option<u32>,
    pub(super) synacks: u32,
    pub(super) first_synack: u64,
    pub(super) last_synack: u64,
    /// When the acknowledgement of the SYN-ACK was seen.
    pub(super) done: Option<u64>,
    /// Packets of the server that answered a SYN with neither SYN-ACK nor RST: it knows of another connection.
    pub(super) strange_answers: u32,
    pub(super) predecessor: Option<Predecessor>,
    /// Whether the server answered a SYN with a reset.
    pub(super) is_refused: bool,
}

impl Handshake {
    /// Takes in a packet of the handshake; `from_client` by the SYN's direction.
    pub(super) fn observe(&mut self, now: u64, segment: &Segment, from_client: bool) {
        let flags = segment.flags;
        match (flags.has(Flags::SYN), flags.has(Flags::ACK)) {
            (true, false) => {
                if self.syns == 0 {
                    self.first_syn = now;
                    self.isn = Some(segment.seq);
                }
                self.syns = self.syns.saturating_add(1);
                self.last_syn = now;
            }
            (true, true) => {
                if self.synacks == 0 {
                    self.first_synack = now;
                }
                self.synacks = self.synacks.saturating_add(1);
                self.last_synack = now;
            }
            (false, _) if self.synacks == 0 => {
                self.is_refused |= !from_client && self.syns > 0 && flags.has(Flags::RST);
                let is_strange = !from_client && self.syns > 0 && !flags.has(Flags::RST);
                self.strange_answers = self.strange_answers.saturating_add(u32::from(is_strange));
            }
            (false, true) if from_client && self.done.is_none() && !flags.has(Flags::RST) => {
                self.done = Some(now);
            }
            (false, _) => {}
        }
    }

    /// The round trip of a handshake without retries.
    pub(super) fn round_trip(&self) -> Option<u64> {
        let took = self.done?.checked_sub(self.first_syn)?;
        (self.syns > 0 && self.synacks > 0).then_some(took)
    }
}
