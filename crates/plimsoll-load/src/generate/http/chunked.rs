//! The chunked transfer coding (RFC 9112, section 7.1): where a body ends.

use plimsoll_model::observation::ErrorKind;

/// The longest line of a chunk's size or of a trailer, in bytes.
const LONGEST_LINE: u32 = 8 << 10;

/// Where in a chunked body the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunked {
    /// In the digits of a chunk's size; `digits` have been seen.
    Size { size: u64, digits: u8 },
    /// In what follows the size on its line.
    Extension { size: u64, length: u32 },
    /// In the data, with so much left of it.
    Data(u64),
    /// After the data, where CR LF has to come; LF alone once the CR is there.
    DataEnd { cr: bool },
    /// In a line of the trailer, with its length so far.
    Trailer { length: u32 },
    /// Behind the end.
    Over,
}

impl Chunked {
    /// At the beginning of a body.
    pub(super) const START: Self = Self::Size { size: 0, digits: 0 };

    /// Takes bytes of the body, and says how many belong to it.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        let mut at = 0;
        while at < bytes.len() && *self != Self::Over {
            if let Self::Data(left) = *self {
                let here = left.min((bytes.len() - at) as u64);
                at += here as usize;
                *self = if here == left { Self::DataEnd { cr: false } } else { Self::Data(left - here) };
            } else {
                *self = self.step(bytes[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// The state after one byte that is no data.
    fn step(self, byte: u8) -> Result<Self, ErrorKind> {
        let digit = char::from(byte).to_digit(16);
        Ok(match (self, byte) {
            (Self::Size { size, digits: digits @ 0..16 }, _) if digit.is_some() => {
                Self::Size { size: size << 4 | u64::from(digit.unwrap_or(0)), digits: digits + 1 }
            }
            (Self::Size { size, digits: 1.. }, b'\r' | b';' | b' ' | b'\t') => {
                Self::Extension { size, length: 0 }
            }
            (Self::Size { size, digits: 1.. } | Self::Extension { size, .. }, b'\n') => match size {
                0 => Self::Trailer { length: 0 },
                size => Self::Data(size),
            },
            (Self::Extension { size, length: length @ ..LONGEST_LINE }, _) => {
                Self::Extension { size, length: length + 1 }
            }
            (Self::DataEnd { cr: false }, b'\r') => Self::DataEnd { cr: true },
            (Self::DataEnd { .. }, b'\n') => Self::START,
            (Self::Trailer { length: 0 }, b'\n') => Self::Over,
            (Self::Trailer { .. }, b'\n') => Self::Trailer { length: 0 },
            (Self::Trailer { length }, b'\r') => Self::Trailer { length },
            (Self::Trailer { length: length @ ..LONGEST_LINE }, _) => Self::Trailer { length: length + 1 },
            _ => return Err(ErrorKind::Garbage),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"5\r\nhello\r\nA;name=value\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";

    #[test]
    fn a_body_ends_after_its_trailer_however_it_is_cut() {
        for cut in 0..BODY.len() {
            let mut state = Chunked::START;
            assert_eq!(state.take(&BODY[..cut]), Ok(cut));
            assert_ne!(state, Chunked::Over, "after {cut} bytes");
            let rest = [&BODY[cut..], b"HTTP"].concat();
            assert_eq!(state.take(&rest), Ok(BODY.len() - cut));
            assert_eq!(state, Chunked::Over);
        }
    }

    #[test]
    fn what_is_not_chunked_is_garbage() {
        let cases: [&[u8]; 5] = [b"x\r\n", b"\r\n", b"5\r\nhelloo\r\n", b"-1\r\n", b"12345678901234567\r\n"];
        for bytes in cases {
            assert_eq!(Chunked::START.clone().take(bytes), Err(ErrorKind::Garbage), "{bytes:?}");
        }
    }

    #[test]
    fn endless_lines_are_garbage() {
        let endless = [b"1;".as_slice(), &vec![b'a'; 2 * LONGEST_LINE as usize]].concat();
        assert_eq!(Chunked::START.clone().take(&endless), Err(ErrorKind::Garbage));
    }
}
