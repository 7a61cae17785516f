//! Where the text of a message ends: at a line that is a single dot (RFC 5321, section 4.1.1.4).

use memchr::memmem;

/// End of a text, with the line break before it.
const END: &[u8] = b"\r\n.\r\n";

/// Looks for the end of a text that comes in pieces. A line of a text that begins with a dot has another before it, so only the end
/// looks like the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndOfText {
    /// How many bytes of [`END`] were seen last.
    matched: usize,
}

impl EndOfText {
    /// At the beginning of a text: the line break before it was that of the command.
    pub(crate) const START: Self = Self { matched: 2 };

    /// Takes bytes of a text; where it ends in them, says how many belong to it, its end included.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        // A sequence that began in an earlier piece is finished byte by byte.
        while self.matched > 0 && at < bytes.len() {
            self.step(bytes[at]);
            at += 1;
            if self.matched == END.len() {
                return Some(at);
            }
        }
        // Only from here on: the pieces before did not end with a part of the end.
        if self.matched == 0 {
            if let Some(found) = memmem::find(&bytes[at..], END) {
                return Some(at + found + END.len());
            }
            let rest = &bytes[at..];
            rest[rest.len().saturating_sub(END.len() - 1)..].iter().for_each(|&byte| self.step(byte));
        }
        None
    }

    fn step(&mut self, byte: u8) {
        self.matched = match (self.matched, byte) {
            (n, byte) if END[n] == byte => n + 1,
            // The only byte with which the end begins.
            (_, b'\r') => 1,
            _ => 0,
        };
    }
}

/// Calls `each` with the pieces of a text as its sender had it: without its end, and without the dots that were put before those at the
/// beginning of a line.
pub(crate) fn unstuffed<'t>(wire: &'t [u8], mut each: impl FnMut(&'t [u8])) {
    let text = wire.strip_suffix(b".\r\n").unwrap_or(wire);
    let mut rest = text.strip_prefix(b".").unwrap_or(text);
    while let Some(found) = memmem::find(rest, b"\r\n.") {
        each(&rest[..found + 2]);
        rest = &rest[found + 3..];
    }
    each(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_at_its_dot_however_it_is_cut() {
        let texts: [&[u8]; 5] = [
            b".\r\n",
            b"a line\r\n.\r\n",
            b"..\r\n.dot\r\n\r\n.\r\n",
            b"\r\r\n\r\n.\r\n",
            b"dots ...\r\n..\r\n.\r.\r\n\r\n.\r\n",
        ];
        for text in texts {
            for cut in 0..text.len() {
                let mut end = EndOfText::START;
                assert_eq!(end.take(&text[..cut]), None, "{text:?} cut at {cut}");
                let rest = [&text[cut..], b"QUIT\r\n"].concat();
                assert_eq!(end.take(&rest), Some(text.len() - cut), "{text:?} cut at {cut}");
            }
            let mut end = EndOfText::START;
            let ends: Vec<_> = text.iter().filter_map(|&byte| end.take(&[byte])).collect();
            assert_eq!(ends, [1], "{text:?} byte by byte");
        }
    }

    #[test]
    fn dots_that_were_put_before_others_are_taken_away() {
        let cases: [(&[u8], &[u8]); 4] = [
            (b".\r\n", b""),
            (b"..\r\n.\r\n", b".\r\n"),
            (b"a\r\n..b\r\n.\r\n", b"a\r\n.b\r\n"),
            (b"a.b\r\n...\r\n.\r\n", b"a.b\r\n..\r\n"),
        ];
        for (wire, expected) in cases {
            let mut found = Vec::new();
            unstuffed(wire, |piece| found.extend_from_slice(piece));
            assert_eq!(found, expected);
        }
    }
}
