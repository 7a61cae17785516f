//! Compressed packet files: gzip (RFC 1952) and zstd (RFC 8878), unpacked while they are read.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Content of a compressed input, as far as it can be unpacked.
pub(super) struct Unpacked<'r> {
    from: Box<dyn Read + 'r>,
    is_begun: bool,
    /// Why it ended early.
    damage: Option<io::Error>,
}

impl<'r> Unpacked<'r> {
    /// Unpacks `input` as the program of this name does; `None` if it is none that is known here.
    pub(super) fn of(program: &str, input: &'r mut dyn Read) -> Option<Self> {
        let from: Box<dyn Read + 'r> = match program {
            "gzip" => Box::new(MultiGzDecoder::new(input)),
            "zstd" => Box::new(Zstd { input, frame: FrameDecoder::new(), is_open: false }),
            _ => return None,
        };
        Some(Self { from, is_begun: false, damage: None })
    }

    /// Why what was read is not the whole.
    pub(super) fn damage(&self) -> Option<&io::Error> {
        self.damage.as_ref()
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.from.read(buffer) {
            // A file that is cut is read as far as it goes.
            Err(error) if self.is_begun && error.kind() != io::ErrorKind::Interrupted => {
                self.damage = Some(error);
                self.from = Box::new(io::empty());
                Ok(0)
            }
            other => {
                self.is_begun |= other.as_ref().is_ok_and(|&count| count > 0);
                other
            }
        }
    }
}

/// Frames of zstd, one behind the other.
struct Zstd<'r> {
    input: &'r mut dyn Read,
    frame: FrameDecoder,
    is_open: bool,
}

impl Zstd<'_> {
    /// Begins the next frame; false at the end of the input.
    fn open(&mut self) -> io::Result<bool> {
        let mut first = [0];
        if self.input.read(&mut first)? == 0 {
            return Ok(false);
        }
        match self.frame.reset(first.as_slice().chain(&mut *self.input)) {
            Ok(()) => self.is_open = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                io::copy(&mut self.input.take(u64::from(length)), &mut io::sink())?;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(true)
    }
}

impl Read for Zstd<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const AT_LEAST: usize = 1 << 16;
        loop {
            if self.frame.can_collect() > 0 {
                return self.frame.read(buffer);
            }
            if self.is_open && self.frame.is_finished() {
                self.is_open = false;
            }
            if self.is_open {
                let least = BlockDecodingStrategy::UptoBytes(AT_LEAST);
                self.frame.decode_blocks(&mut *self.input, least).map_err(io::Error::other)?;
            } else if !self.open()? {
                return Ok(0);
            }
        }
    }
}
