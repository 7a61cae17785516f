//! Frames on a stream.

use std::io::{self, Read, Write};

use serde_json::Value;

use super::{FromAgent, ToAgent};

/// The longest frame that is accepted, in bytes: a guard against reading something that is no frame.
pub const LONGEST_FRAME: u32 = 256 << 20;

/// Message of such a stream, as JSON.
///
/// This crate alone converts frames: code for all that a frame may hold takes seconds to compile.
pub trait Frame: Sized {
    /// The text of a frame.
    ///
    /// # Errors
    /// When it has a path that is no UTF-8.
    fn to_json(&self) -> serde_json::Result<Vec<u8>>;

    /// The frame of a text.
    ///
    /// # Errors
    /// When the text is no such frame.
    fn from_json(text: &[u8]) -> serde_json::Result<Self>;
}

macro_rules! frames {
    ($($frame:ty),+) => {$(
        impl Frame for $frame {
            fn to_json(&self) -> serde_json::Result<Vec<u8>> {
                serde_json::to_vec(self)
            }

            fn from_json(text: &[u8]) -> serde_json::Result<Self> {
                serde_json::from_slice(text)
            }
        }
    )+};
}

// `Value` is a frame of either side, for programs that pass it on unread.
frames!(ToAgent, FromAgent, Value);

/// Writes one frame and flushes it.
///
/// # Errors
/// When the stream cannot be written to, or the frame would be longer than [`LONGEST_FRAME`].
pub fn write(out: &mut impl Write, frame: &impl Frame) -> io::Result<()> {
    let body = frame.to_json()?;
    let length = u32::try_from(body.len()).ok().filter(|&n| n <= LONGEST_FRAME);
    let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"))?;
    out.write_all(&length.to_be_bytes())?;
    out.write_all(&body)?;
    out.flush()
}

/// Reads one frame; `None` where the stream ends between two frames.
///
/// # Errors
/// When the stream cannot be read, ends inside a frame, or what comes is no frame of this kind.
pub fn read<F: Frame>(input: &mut impl Read) -> io::Result<Option<F>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length[..1]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    input.read_exact(&mut length[1..])?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST_FRAME {
        let error = format!("a frame of {length} bytes: the other side does not speak Plimsoll's frames");
        return Err(io::Error::new(io::ErrorKind::InvalidData, error));
    }
    let mut body = Vec::new();
    input.take(u64::from(length)).read_to_end(&mut body)?;
    if body.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(F::from_json(&body)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in_and_the_stream_ends_between_two() {
        let frames = [
            ToAgent::Stop { id: 7, kill: false },
            ToAgent::Sample { hz: 10 },
            ToAgent::Drain { id: 1, time_wait: true, give_up_ms: 5 },
        ];
        let mut stream = Vec::new();
        for frame in &frames {
            write(&mut stream, frame).unwrap();
        }
        let mut input = stream.as_slice();
        for frame in &frames {
            assert_eq!(read::<ToAgent>(&mut input).unwrap().as_ref(), Some(frame));
        }
        assert_eq!(read::<ToAgent>(&mut input).unwrap(), None);
    }

    #[test]
    fn a_stream_that_ends_inside_a_frame_is_an_error() {
        let mut stream = Vec::new();
        write(&mut stream, &ToAgent::Stop { id: 7, kill: false }).unwrap();
        for cut in 1..stream.len() {
            assert!(read::<ToAgent>(&mut &stream[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn something_else_than_frames_is_refused_without_reading_on() {
        let error = read::<FromAgent>(&mut "Last login: Tue".as_bytes()).unwrap_err();
        assert!(error.to_string().contains("does not speak"), "{error}");
    }
}
