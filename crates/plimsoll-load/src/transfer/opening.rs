//! Agreement of a load and its service before bytes flow.
//!
//! A connection begins with eight bytes that name the protocol, a length (4 bytes, big endian) and a JSON object. The service answers
//! one byte when it is ready, or a length and the reason why it cannot do what it is asked to. A connection that begins with anything
//! else is taken for a stream of bytes without an announcement.

use std::io::{self, ErrorKind, Read, Write};

use plimsoll_model::experiment::BulkLoad;
use plimsoll_model::observation::TcpState;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The first bytes of a connection.
pub(crate) const MAGIC: [u8; 8] = *b"plimbulk";
/// The longest object that is accepted, in bytes.
const LONGEST: u32 = 1 << 20;
/// The service is ready.
const READY: u8 = 1;
/// The service cannot do it.
const REFUSED: u8 = 0;

/// Request of a load to a service.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Opening {
    /// A stream follows on this connection. Its final state can be asked for by its number.
    Stream {
        /// Chosen at random.
        id: u64,
        /// The load's terms.
        load: BulkLoad,
    },
    /// The final states of streams, answered by a list.
    States {
        /// Their numbers.
        ids: Vec<u64>,
    },
    /// TCP's limits on the service's host, answered by [`TcpLimits`](plimsoll_model::observation::TcpLimits).
    Limits,
    /// Datagrams with this number will come; what became of them is answered when the load sends another byte.
    Datagrams {
        /// Chosen at random.
        flow: u64,
        /// The receive buffer that is asked for.
        buffer: Option<u64>,
    },
}

/// Final state of a stream on the service's side; `None` if it is not known.
pub(crate) type State = Option<TcpState>;

/// Writes an opening and waits until the service is ready.
///
/// # Errors
/// When the connection fails, or the service refuses; then its reason is the error's text.
pub(crate) fn open(stream: &mut (impl Read + Write), opening: &Opening) -> io::Result<()> {
    let mut message = MAGIC.to_vec();
    append(&mut message, opening)?;
    stream.write_all(&message)?;
    let mut answer = [0];
    read_patiently(stream, &mut answer)?;
    if answer[0] == READY {
        return Ok(());
    }
    let reason: String = receive(stream)?;
    Err(io::Error::new(ErrorKind::Unsupported, reason))
}

/// Reports to the load that all is ready.
///
/// # Errors
/// When the connection fails.
pub(crate) fn ready(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(&[READY])
}

/// Reports to the load that it cannot be done, and why.
///
/// # Errors
/// When the connection fails.
pub(crate) fn refuse(stream: &mut impl Write, why: &impl ToString) -> io::Result<()> {
    let mut message = vec![REFUSED];
    append(&mut message, &why.to_string())?;
    stream.write_all(&message)
}

/// Writes an object.
///
/// # Errors
/// When the connection fails.
pub(crate) fn send(stream: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut message = Vec::new();
    append(&mut message, what)?;
    stream.write_all(&message)
}

/// Reads an object.
///
/// # Errors
/// When the connection fails or ends, or what comes is no such object.
pub(crate) fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    read_patiently(stream, &mut length)?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Err(io::Error::new(ErrorKind::InvalidData, format!("an object of {length} bytes")));
    }
    let mut body = vec![0; length as usize];
    read_patiently(stream, &mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

fn append(message: &mut Vec<u8>, what: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(what)?;
    let length = u32::try_from(body.len()).map_err(|_| ErrorKind::InvalidData)?;
    message.extend(length.to_be_bytes());
    message.extend(body);
    Ok(())
}

/// How many time limits of the socket may pass while an answer is waited for: 10 s at 0.1 s each.
const TRIES: u32 = 100;

/// `read_exact` over a socket whose time limit is short.
fn read_patiently(stream: &mut impl Read, mut buffer: &mut [u8]) -> io::Result<()> {
    let mut tries = 0;
    while !buffer.is_empty() {
        match stream.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => buffer = &mut buffer[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock && tries < TRIES => tries += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection on which the answer is there already.
    struct Answered<'a> {
        answer: &'a [u8],
        written: Vec<u8>,
    }

    impl Read for Answered<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.answer.read(buffer)
        }
    }

    impl Write for Answered<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_refusal_comes_with_its_reason() {
        let mut answer = Vec::new();
        refuse(&mut answer, &"there is no such congestion control").unwrap();
        let mut connection = Answered { answer: &answer, written: Vec::new() };
        let error = open(&mut connection, &Opening::States { ids: vec![1] }).unwrap_err();
        assert_eq!(error.to_string(), "there is no such congestion control");
    }

    #[test]
    fn an_opening_reads_back_as_itself() {
        let mut connection = Answered { answer: &[READY], written: Vec::new() };
        open(&mut connection, &Opening::Datagrams { flow: 7, buffer: None }).unwrap();
        let mut written = connection.written.strip_prefix(&MAGIC).unwrap();
        let opening: Opening = receive(&mut written).unwrap();
        assert!(matches!(opening, Opening::Datagrams { flow: 7, buffer: None }));
    }

    #[test]
    fn an_object_that_is_too_long_or_cut_off_is_an_error() {
        assert!(receive::<String>(&mut &[0xff; 64][..]).is_err());
        assert!(receive::<String>(&mut &[0, 0, 0, 9, b'"'][..]).is_err());
    }
}
