//! Messages of nf_tables, as bytes: the few that address translation needs (linux/netfilter/nf_tables.h).

use crate::netlink::{self, Attributes, NLM_F_ACK, NLM_F_CREATE};

/// What nf_tables makes: the number of the message that does it (enum nf_tables_msg_types).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Table = 0,
    Chain = 3,
    Rule = 6,
}

/// linux/netlink.h
const NLM_F_APPEND: u16 = 0x800;
/// linux/netfilter/nfnetlink.h
const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFNL_SUBSYS_NFTABLES: u16 = 10;
const NFNETLINK_V0: u8 = 0;
/// linux/netfilter.h
pub(super) const NFPROTO_IPV4: u8 = 2;

/// A batch: the kernel carries out all of its messages, or none.
pub(super) struct Batch {
    bytes: Vec<u8>,
    sequence: u32,
}

impl Batch {
    pub(super) fn new() -> Self {
        let mut batch = Self { bytes: Vec::new(), sequence: 0 };
        batch.message(NFNL_MSG_BATCH_BEGIN, 0, 0, NFNL_SUBSYS_NFTABLES, &Attributes::new());
        batch
    }

    /// Makes something; the kernel answers to each of these.
    pub(super) fn make(&mut self, kind: Kind, attributes: &Attributes) {
        let flags = NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK;
        self.message(NFNL_SUBSYS_NFTABLES << 8 | kind as u16, flags, NFPROTO_IPV4, 0, attributes);
    }

    /// The whole, and the number of answers that it will have.
    pub(super) fn finish(mut self) -> (Vec<u8>, u32) {
        let answers = self.sequence - 1;
        self.message(NFNL_MSG_BATCH_END, 0, 0, NFNL_SUBSYS_NFTABLES, &Attributes::new());
        (self.bytes, answers)
    }

    /// One message: `struct nfgenmsg`, and attributes.
    fn message(&mut self, kind: u16, flags: u16, family: u8, resource: u16, attributes: &Attributes) {
        let [high, low] = resource.to_be_bytes();
        let body = [&[family, NFNETLINK_V0, high, low], attributes.as_bytes()].concat();
        self.bytes.extend(netlink::message(kind, flags, self.sequence, &body));
        self.sequence += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_a_begin_an_end_and_an_answer_to_each_message_between() {
        let mut batch = Batch::new();
        batch.make(Kind::Table, &Attributes::new().text(1, "x"));
        batch.make(Kind::Rule, &Attributes::new());
        let (bytes, answers) = batch.finish();
        assert_eq!(answers, 2);
        let mut kinds = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let length = u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            kinds.push(u16::from_ne_bytes(bytes[at + 4..at + 6].try_into().unwrap()));
            at += length;
        }
        assert_eq!(kinds, [0x10, 10 << 8, 10 << 8 | 6, 0x11]);
        assert_eq!(at, bytes.len());
    }
}
