//! Who speaks when: whether the client's data are requests, and the server's answers.

use super::{Connection, Facts};

/// A client that sent more than this without any answer sends a stream, and no request.
const LARGEST_REQUEST: u64 = 64 << 10;

/// Pauses of its own that show a server which streams.
const STREAMED: u32 = 3;

/// Turns of a conversation.
#[derive(Default)]
pub(super) struct Dialogue {
    /// Requests that the server answered.
    pub(super) answered: u32,
    /// Pauses of the client in its own data that no answer interrupted.
    unprompted: u32,
    /// The longest time, in nanoseconds, from a request to its answer.
    pub(super) longest_answer: u64,
    /// Silences of the server between two pieces of its own data.
    pauses: Spread,
    /// Times between two pieces of the server's data that data of the client's divides.
    divided: Spread,
    /// Whether data of the client's came since the server's last.
    is_divided: bool,
}

/// How many times there were, and the shortest and longest in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Spread {
    count: u32,
    least: u64,
    most: u64,
}

impl Spread {
    fn add(&mut self, time: u64) {
        self.least = if self.count == 0 { time } else { self.least.min(time) };
        self.most = self.most.max(time);
        self.count = self.count.saturating_add(1);
    }
}

impl Connection {
    /// Whether the client sends without waiting for answers.
    pub(super) fn is_one_way(&self) -> bool {
        let Dialogue { answered, unprompted, .. } = self.dialogue;
        unprompted > answered || (answered == 0 && self.halves[self.client].bytes > LARGEST_REQUEST)
    }

    /// Whether the server sends at a pace of its own, so that the client's data between is no request: with such data between, its pieces come
    /// as far apart as without.
    pub(super) fn is_stream(&self) -> bool {
        let Dialogue { pauses, divided, .. } = self.dialogue;
        pauses.count >= STREAMED
            && pauses.most <= 4 * pauses.least
            && divided.count > 0
            && divided.least >= pauses.least / 5 * 4
            && divided.most <= pauses.most / 4 * 5
    }

    /// New data: an answer, another request, or a piece of a stream. The server had sent data before at `server_spoke`.
    #[inline]
    pub(super) fn converse(&mut self, facts: &Facts, server_spoke: Option<u64>) {
        let is_paused = facts.silence > facts.threshold && !facts.resent;
        let by_client = facts.me == self.client;
        let since_server = facts.now.saturating_sub(server_spoke.unwrap_or(facts.now));
        let client_spoke_last = self.last_word == Some(self.client);
        let dialogue = &mut self.dialogue;
        match (client_spoke_last, by_client) {
            (true, false) => {
                dialogue.answered = dialogue.answered.saturating_add(1);
                dialogue.longest_answer = dialogue.longest_answer.max(facts.silence);
                // A quick exchange says nothing about what keeps the server at other times.
                if std::mem::take(&mut dialogue.is_divided) && since_server > facts.threshold {
                    dialogue.divided.add(since_server);
                }
            }
            (true, true) if is_paused => dialogue.unprompted = dialogue.unprompted.saturating_add(1),
            (false, false) if is_paused && self.last_word.is_some() => dialogue.pauses.add(since_server),
            (false, true) => dialogue.is_divided = server_spoke.is_some(),
            _ => {}
        }
    }
}
