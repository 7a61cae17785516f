//! Interface of a protocol for the event loop.

use plimsoll_model::observation::ErrorKind;

use super::tally::Tally;

/// Requests and their answers on a connection, without any knowledge of sockets and clocks.
pub(super) trait Protocol: Sized {
    /// State of a connection's present request and its reply.
    type Reply: Default;
    /// Request under way.
    type Request: Copy;

    /// Bytes sent before a connection is closed; the server then closes it. Empty where the protocol has no such word.
    const GOODBYE: &'static [u8] = b"";

    /// Whether the client closes a connection on which the server takes no further request; else the server does.
    const CLOSES: bool = false;

    /// Whether what is answered first makes room for another request at once, where several are under way on a connection; else the next follow when
    /// all are answered.
    const REFILLS: bool = false;

    /// Content of the next request.
    fn choose(&mut self) -> Self::Request;

    /// A request begins: on a `fresh` connection, or on one on which others were answered.
    fn begin(&self, asked: Self::Request, answer: &mut Self::Reply, fresh: bool);

    /// A batch of requests begins, to the target with this index.
    fn batch(&self, _asked: Self::Request, _answer: &mut Self::Reply, _target: usize, _batch: Batch) {}

    /// The bytes to send to the target with this index, the same until the server has answered; empty if the server speaks first.
    fn request<'p>(
        &'p mut self,
        asked: Self::Request,
        answer: &'p Self::Reply,
        target: usize,
        batch: Batch,
    ) -> Pieces<'p>;

    /// Whether the server will take further requests beside those that are under way.
    fn takes_more(&self, _answer: &Self::Reply) -> bool {
        false
    }

    /// When the oldest of the requests under way was sent; asked where the protocol refills.
    fn oldest(&self, _answer: &Self::Reply) -> Option<u64> {
        None
    }

    /// When the request was sent that was answered last, where those of a connection do not begin together.
    fn answered_since(&self, _answer: &Self::Reply) -> Option<u64> {
        None
    }

    /// Requests began to be sent at `now`.
    fn spoke(&self, _answer: &mut Self::Reply, _now: u64) {}

    /// Takes bytes that came at `now`, up to the end of an answer; says how many it took.
    ///
    /// # Errors
    /// Why the connection is of no use any more.
    fn receive(
        &mut self,
        asked: Self::Request,
        answer: &mut Self::Reply,
        bytes: &[u8],
        now: u64,
    ) -> Result<(Turn, usize), ErrorKind>;

    /// Takes the end of the server's stream.
    ///
    /// # Errors
    /// When the answer was not complete.
    fn end_of_stream(&self, answer: &Self::Reply) -> Result<Turn, ErrorKind>;

    /// Takes bytes that came while nothing was asked.
    ///
    /// # Errors
    /// Where the protocol knows no such bytes.
    fn unasked(&self, _answer: &mut Self::Reply, _bytes: &[u8]) -> Result<(), ErrorKind> {
        Err(ErrorKind::Garbage)
    }

    /// A request will never be answered.
    fn abandoned(&mut self, _asked: Self::Request, _answer: &Self::Reply) {}

    /// The server's words that made an answer a fault; `None` if they are not known any more.
    fn complaint(&self, _answer: &Self::Reply) -> Option<String> {
        None
    }

    /// The server's words before it ended a connection; `None` if the protocol has no such words.
    fn last_words(&self, _answer: &Self::Reply) -> Option<String> {
        None
    }

    /// How many bytes a request that was answered has moved; `None` if those that were received count.
    fn moved(&self, _asked: Self::Request) -> Option<u64> {
        None
    }

    /// Adds what it has counted itself.
    fn add_to(self, _tally: &mut Tally) {}
}

/// Requests that are sent at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// How many of the same there are: more than one only where a load says so.
    pub(super) requests: u32,
    /// No other request will follow on the connection.
    pub(super) last: bool,
}

/// Bytes to be sent, one piece behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces<'p>(pub(super) [&'p [u8]; 3]);

impl<'p> Pieces<'p> {
    /// How many bytes there are.
    pub(super) fn len(self) -> usize {
        self.0.iter().map(|piece| piece.len()).sum()
    }

    /// The slices without their first `at` bytes.
    pub(super) fn from(mut self, mut at: usize) -> Self {
        for piece in &mut self.0 {
            let gone = at.min(piece.len());
            *piece = &piece[gone..];
            at -= gone;
        }
        self
    }

    /// All of it, where only the first piece has any bytes.
    pub(super) fn single(self) -> Option<&'p [u8]> {
        let [first, second, third] = self.0;
        (second.is_empty() && third.is_empty()).then_some(first)
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// More of the answer has to come.
    Theirs,
    /// There is more to be said before the answer is complete.
    OursAgain,
    /// The answer is complete.
    Ours {
        /// Whether the server will take another request; if not, it closes the connection.
        stays: bool,
        /// Error in the reply, though the connection can continue.
        fault: Option<ErrorKind>,
    },
}
