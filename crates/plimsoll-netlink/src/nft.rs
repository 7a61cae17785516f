//! Messages of nf_tables, as bytes: tables, chains and rules (linux/netfilter/nf_tables.h).

use std::net::Ipv4Addr;

use crate::{Attributes, NLM_F_ACK, NLM_F_CREATE};

/// What nf_tables makes: the number of the message that does it (enum nf_tables_msg_types).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A table.
    Table = 0,
    /// A chain of a table.
    Chain = 3,
    /// A rule of a chain.
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
pub const NFPROTO_IPV4: u8 = 2;

/// A batch: the kernel carries out all of its messages, or none.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    sequence: u32,
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl Batch {
    /// Nothing in it yet.
    #[must_use]
    pub fn new() -> Self {
        let mut batch = Self { bytes: Vec::new(), sequence: 0 };
        batch.message(NFNL_MSG_BATCH_BEGIN, 0, 0, NFNL_SUBSYS_NFTABLES, &Attributes::new());
        batch
    }

    /// Makes something; the kernel answers to each of these.
    pub fn make(&mut self, kind: Kind, attributes: &Attributes) {
        let flags = NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK;
        self.message(NFNL_SUBSYS_NFTABLES << 8 | kind as u16, flags, NFPROTO_IPV4, 0, attributes);
    }

    /// Removes a table by its name, with all that is in it.
    pub fn remove_table(&mut self, name: &str) {
        const NFT_MSG_DELTABLE: u16 = 2;
        let attributes = Attributes::new().text(1, name);
        self.message(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_DELTABLE, NLM_F_ACK, NFPROTO_IPV4, 0, &attributes);
    }

    /// The whole, and the number of answers that it will have.
    pub fn finish(mut self) -> (Vec<u8>, u32) {
        let answers = self.sequence - 1;
        self.message(NFNL_MSG_BATCH_END, 0, 0, NFNL_SUBSYS_NFTABLES, &Attributes::new());
        (self.bytes, answers)
    }

    /// One message: `struct nfgenmsg`, and attributes.
    fn message(&mut self, kind: u16, flags: u16, family: u8, resource: u16, attributes: &Attributes) {
        let [high, low] = resource.to_be_bytes();
        let body = [&[family, NFNETLINK_V0, high, low], attributes.as_bytes()].concat();
        self.bytes.extend(crate::message(kind, flags, self.sequence, &body));
        self.sequence += 1;
    }
}

/// One expression, by its name in the kernel.
pub fn expression(name: &str, data: &Attributes) -> Attributes {
    // NFTA_EXPR_NAME, _DATA
    Attributes::new().text(1, name).nested(2, data)
}

/// Bytes as nf_tables takes them.
pub fn value(bytes: &[u8]) -> Attributes {
    // NFTA_DATA_VALUE
    Attributes::new().bytes(1, bytes)
}

/// What a register holds is this; the rule ends here for a packet of which it is not true.
pub fn equal(register: u32, bytes: &[u8]) -> Attributes {
    // NFTA_CMP_SREG, _OP, _DATA
    const NFT_CMP_EQ: u32 = 0;
    let data = Attributes::new().number(1, register).number(2, NFT_CMP_EQ).nested(3, &value(bytes));
    expression("cmp", &data)
}

/// The packet's source address, which is put into this register, is of this network.
pub fn from_network(register: u32, network: Ipv4Addr, prefix: u8) -> Vec<Attributes> {
    // NFTA_PAYLOAD_DREG, _BASE, _OFFSET, _LEN
    const NFT_PAYLOAD_NETWORK_HEADER: u32 = 1;
    const SOURCE_ADDRESS: u32 = 12;
    let load = Attributes::new()
        .number(1, register)
        .number(2, NFT_PAYLOAD_NETWORK_HEADER)
        .number(3, SOURCE_ADDRESS)
        .number(4, 4);
    // NFTA_BITWISE_SREG, _DREG, _LEN, _MASK, _XOR
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
    let bits = Attributes::new()
        .number(1, register)
        .number(2, register)
        .number(3, 4)
        .nested(4, &value(&mask.to_be_bytes()))
        .nested(5, &value(&[0; 4]));
    let network = (u32::from(network) & mask).to_be_bytes();
    vec![expression("payload", &load), expression("bitwise", &bits), equal(register, &network)]
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
