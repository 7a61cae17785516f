//! A window that slides over an input, so that a record can be looked at in one piece without reading the whole file.

use std::io::Read;

use super::ReadError;

/// Bytes read at a time.
const STEP: usize = 1 << 20;

/// A sliding window over an input. Its buffer is as long as the longest piece asked for, and at least [`STEP`].
pub(super) struct Window<'r> {
    input: &'r mut dyn Read,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the input before `start`.
    passed: u64,
    at_end: bool,
}

impl<'r> Window<'r> {
    pub(super) fn new(input: &'r mut dyn Read) -> Self {
        Self { input, buffer: vec![0; STEP], start: 0, end: 0, passed: 0, at_end: false }
    }

    /// How far into the input the window begins.
    pub(super) fn offset(&self) -> u64 {
        self.passed
    }

    /// The bytes in the window.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// At least `wanted` bytes, or fewer at the end of the input.
    #[inline]
    pub(super) fn fill_to(&mut self, wanted: usize) -> Result<&[u8], ReadError> {
        if self.end - self.start < wanted {
            self.refill(wanted)?;
        }
        Ok(Self::bytes(self))
    }

    /// Moves the start on by `count` bytes that are in the window.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.passed += count as u64;
    }

    /// Moves the start on by `count` bytes, read yet or not; returns how many there were.
    pub(super) fn skip(&mut self, count: u64) -> Result<u64, ReadError> {
        let mut left = count;
        while left > 0 {
            let here = self.fill_to(1)?.len() as u64;
            if here == 0 {
                break;
            }
            let step = here.min(left);
            self.advance(usize::try_from(step).unwrap_or(usize::MAX));
            left -= step;
        }
        Ok(count - left)
    }

    /// Reads what is in the window, then on.
    fn take(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let here = self.fill_to(1)?;
        let count = here.len().min(buffer.len());
        buffer[..count].copy_from_slice(&here[..count]);
        self.advance(count);
        Ok(count)
    }

    #[cold]
    fn refill(&mut self, wanted: usize) -> Result<(), ReadError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if wanted > self.buffer.len() {
            self.buffer.resize(wanted, 0);
        }
        while self.end < wanted && !self.at_end {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(ReadError::Io { after: self.passed + self.end as u64, source }),
            }
        }
        Ok(())
    }
}

impl Read for Window<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.take(buffer).map_err(|error| match error {
            ReadError::Io { source, .. } => source,
            other => std::io::Error::other(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_whole_however_the_input_arrives() {
        struct OneByOne(u8);
        impl Read for OneByOne {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                if self.0 == 100 {
                    return Ok(0);
                }
                buffer[0] = self.0;
                self.0 += 1;
                Ok(1)
            }
        }
        let mut input = OneByOne(0);
        let mut window = Window::new(&mut input);
        assert_eq!(window.fill_to(3).unwrap(), [0, 1, 2]);
        window.advance(2);
        assert_eq!(window.fill_to(4).unwrap(), [2, 3, 4, 5]);
        assert_eq!(window.skip(90).unwrap(), 90);
        assert_eq!(window.offset(), 92);
        assert_eq!(window.fill_to(50).unwrap(), [92, 93, 94, 95, 96, 97, 98, 99]);
        assert_eq!(window.skip(50).unwrap(), 8);
    }
}
