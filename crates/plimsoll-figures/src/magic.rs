//! Kind of an input, by its first bytes.

/// Kinds of input that first bytes show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Magic {
    /// A packet file: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html>.
    Pcap,
    /// A packet file: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>.
    Pcapng,
    /// A packet file in a form that nothing here reads.
    OtherPcap(&'static str),
    /// A compressed input, by the program that unpacks it.
    Compressed(&'static str),
}

impl Magic {
    /// Kind of an input that begins so.
    pub fn of(head: &[u8]) -> Option<Self> {
        Some(match head.first_chunk::<4>()? {
            [0xa1, 0xb2, 0xc3, 0xd4] | [0xd4, 0xc3, 0xb2, 0xa1] => Self::Pcap,
            [0xa1, 0xb2, 0x3c, 0x4d] | [0x4d, 0x3c, 0xb2, 0xa1] => Self::Pcap,
            [0x0a, 0x0d, 0x0d, 0x0a] => Self::Pcapng,
            [0xa1, 0xb2, 0xcd, 0x34] | [0x34, 0xcd, 0xb2, 0xa1] => {
                Self::OtherPcap("the modified pcap of Kuznetzov")
            }
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Compressed("zstd"),
            [0x1f, 0x8b, ..] => Self::Compressed("gzip"),
            [0xfd, b'7', b'z', b'X'] => Self::Compressed("xz"),
            [b'B', b'Z', b'h', b'1'..=b'9'] => Self::Compressed("bzip2"),
            _ => return None,
        })
    }
}
