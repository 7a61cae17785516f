//! Messages between processes of one run, and journals of the undo process: each message is a line of JSON.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A message as a line, with its end. JSON escapes ends of lines in texts, and has no others.
///
/// # Errors
/// When a path in it is no UTF-8.
pub(crate) fn to_line(message: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(message)? + "\n")
}

/// The message of a line, with or without its end.
///
/// # Errors
/// When the line is no such message.
pub(crate) fn from_line<T: DeserializeOwned>(line: &str) -> io::Result<T> {
    let unheard = |_| io::Error::new(io::ErrorKind::InvalidData, format!("unexpected word {line:?}"));
    serde_json::from_str(line).map_err(unheard)
}
