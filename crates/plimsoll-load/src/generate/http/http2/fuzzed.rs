//! Answers of HTTP/2, as a fuzz target calls their reader.

use super::answers::Answers;
use crate::generate::protocol::Turn;

/// Reads any bytes as frames of a server, on a connection with `requests` requests at a time, in pieces of `piece`
/// bytes.
pub fn http2_answers(bytes: &[u8], piece: usize, requests: u32) {
    let mut answers = Answers::default();
    answers.ask(b"\x82", requests);
    answers.spoke(1);
    let mut open = requests;
    for mut piece in bytes.chunks(piece.max(1)) {
        while !piece.is_empty() {
            let Ok((turn, taken)) = answers.receive(piece) else { return };
            piece = &piece[taken..];
            let Turn::Ours { stays, .. } = turn else { continue };
            // The last answer may come with others before it.
            open = open.checked_sub(1).expect("no more answers than requests");
            if !answers.takes_more() {
                assert!(open > 0 || !stays);
            }
            if open == 0 {
                if !stays {
                    return;
                }
                answers.ask(b"\x82", requests);
                answers.spoke(2);
                open = requests;
            }
        }
    }
}
