//! Messages of nf_tables, as bytes: the few that address translation needs (linux/netfilter/nf_tables.h).

/// What nf_tables makes: the number of the message that does it (enum nf_tables_msg_types).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Table = 0,
    Chain = 3,
    Rule = 6,
}

/// linux/netlink.h
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;
const NLA_F_NESTED: u16 = 1 << 15;
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

    /// One message: `struct nlmsghdr`, `struct nfgenmsg`, and attributes.
    fn message(&mut self, kind: u16, flags: u16, family: u8, resource: u16, attributes: &Attributes) {
        const HEADERS: usize = 16 + 4;
        let length = u32::try_from(HEADERS + attributes.0.len()).expect("a rule is short");
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        self.bytes.extend(self.sequence.to_ne_bytes());
        self.bytes.extend(0u32.to_ne_bytes());
        self.bytes.extend([family, NFNETLINK_V0]);
        self.bytes.extend(resource.to_be_bytes());
        self.bytes.extend(&attributes.0);
        self.sequence += 1;
    }
}

/// Attributes: length, type and value of each, padded to four bytes. Numbers are in network byte order here, unlike elsewhere in netlink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes(Vec<u8>);

impl Attributes {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        const HEADER: usize = 4;
        let length = u16::try_from(HEADER + value.len()).expect("an attribute of a rule is short");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    pub(super) fn number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_be_bytes())
    }

    /// A text, with the zero that ends it.
    pub(super) fn text(self, kind: u16, value: &str) -> Self {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    pub(super) fn nested(self, kind: u16, inner: &Self) -> Self {
        self.bytes(NLA_F_NESTED | kind, &inner.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_to_four_bytes_and_their_length_says_what_is_value() {
        let attributes = Attributes::new().text(1, "nat").number(2, 7).bytes(3, &[9]);
        let length = |n: u16| n.to_ne_bytes();
        let expected = [
            [length(8), length(1)].concat(),
            b"nat\0".to_vec(),
            [length(8), length(2)].concat(),
            vec![0, 0, 0, 7],
            [length(5), length(3)].concat(),
            vec![9, 0, 0, 0],
        ];
        assert_eq!(attributes.0, expected.concat());
    }

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
