//! Commands of SMTP, as a fuzz target calls their reader.

use std::time::Instant;

use super::conversation::{Conversation, Envelope, State};
use super::{Desk, Outcome, Reply, Ticket};
use crate::smtp::LONGEST_LINE;

/// The longest message that is taken, in bytes: short, so that short inputs are longer.
const LONGEST: u64 = 200;

/// A desk that lets the client wait for every second answer.
#[derive(Default)]
struct Listed {
    taken: Vec<(Envelope, Vec<u8>)>,
}

impl Desk for Listed {
    fn offers_pipelining(&self) -> bool {
        true
    }

    fn longest(&self) -> u64 {
        LONGEST
    }

    fn message(&mut self, _: Ticket, envelope: &mut Envelope, wire: &mut Vec<u8>, _: Instant) -> Outcome {
        assert!(wire.ends_with(b".\r\n"), "{wire:?}");
        assert!(!envelope.recipients.is_empty());
        self.taken.push((envelope.clone(), std::mem::take(wire)));
        if self.taken.len() % 2 == 0 { Outcome::Later } else { Outcome::Now("250 2.0.0 taken") }
    }

    fn answers(&mut self, _: Instant, _: &mut Vec<(Ticket, Reply)>) {}
}

/// Any bytes as a client's input. The conversation is the same however they are cut into pieces.
pub fn smtp_commands(bytes: &[u8], piece: usize) {
    // How long a line is shows only when it is not there at once.
    if bytes.len() < LONGEST_LINE {
        assert!(talk(bytes, bytes.len()) == talk(bytes, piece), "in pieces of {piece} bytes");
    } else {
        talk(bytes, piece);
    }
}

fn talk(bytes: &[u8], piece: usize) -> (Vec<u8>, Vec<(Envelope, Vec<u8>)>) {
    let (mut desk, mut buffers, now) = (Listed::default(), Vec::new(), Instant::now());
    let mut session = Conversation::new(Ticket::default());
    for piece in bytes.chunks(piece.max(1)) {
        session.take(piece, &mut buffers, &mut desk, now);
        while session.is_waiting() {
            session.answered("250 2.0.0 taken later");
            session.resume(&mut buffers, &mut desk, now);
        }
        if session.state() == State::Over {
            break;
        }
    }
    (session.out, desk.taken)
}
