//! Attributes of netlink messages: length, type and value of each, padded to four bytes (`struct nlattr`).

const NLA_F_NESTED: u16 = 1 << 15;
/// Length and type.
const HEADER: usize = 4;

/// Attributes that are being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more.
    ///
    /// # Panics
    /// When it is longer than 64 KiB.
    #[must_use]
    pub fn bytes(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(HEADER + value.len()).expect("an attribute is short");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// A number in network byte order, as netfilter has them, and nobody else.
    #[must_use]
    pub fn number(self, kind: u16, value: u32) -> Self {
        self.bytes(kind, &value.to_be_bytes())
    }

    /// A text, with the zero that ends it.
    #[must_use]
    pub fn text(self, kind: u16, value: &str) -> Self {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// Attributes inside of one.
    #[must_use]
    pub fn nested(self, kind: u16, inner: &Self) -> Self {
        self.bytes(NLA_F_NESTED | kind, &inner.0)
    }

    /// As a message has them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The value of the first attribute of a type.
pub fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let header: &[u8; HEADER] = attributes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = attributes.get(HEADER..length)?;
        if u16::from_ne_bytes([header[2], header[3]]) == wanted {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
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
    fn an_attribute_is_found_behind_others_and_not_behind_broken_ones() {
        let all = Attributes::new().bytes(1, &[0; 5]).number(2, 7).number(3, 9);
        assert_eq!(attribute(all.as_bytes(), 3), Some(&[0, 0, 0, 9][..]));
        assert_eq!(attribute(all.as_bytes(), 4), None);
        assert_eq!(attribute(&all.as_bytes()[..13], 2), None, "it is cut off");
        assert_eq!(attribute(&[0; 16], 3), None, "an attribute without a length");
    }
}
