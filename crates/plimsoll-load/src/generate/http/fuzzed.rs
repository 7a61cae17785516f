//! Answers of HTTP/1.1, as a fuzz target calls their reader.

use plimsoll_model::observation::ErrorKind;

pub use super::http2::fuzzed::http2_answers;

use super::answer::{LastHead, Reply};
use crate::generate::protocol::Turn;

/// Replies on a connection: each one's status and how the connection stands after it, and the error that ended it.
type Replies = (Vec<(Option<u16>, Turn)>, Option<ErrorKind>);

/// Any bytes as a server's output on a connection. The answers are the same however they are cut into pieces.
pub fn http1_answers(bytes: &[u8], piece: usize) {
    let whole = read(bytes, bytes.len());
    assert_eq!(whole, read(bytes, piece), "in pieces of {piece} bytes");
}

fn read(bytes: &[u8], piece: usize) -> Replies {
    let (mut answers, mut answer, mut last) = (Vec::new(), Reply::default(), LastHead::default());
    for mut piece in bytes.chunks(piece.max(1)) {
        while !piece.is_empty() {
            match answer.receive(piece, &mut last) {
                Err(why) => return (answers, Some(why)),
                Ok((turn, taken)) => {
                    piece = &piece[taken..];
                    if turn != Turn::Theirs {
                        answers.push((answer.status(), turn));
                        answer = Reply::default();
                    }
                }
            }
        }
    }
    let end = answer.end_of_stream();
    if let Ok(turn) = end {
        answers.push((answer.status(), turn));
    }
    (answers, end.err())
}
