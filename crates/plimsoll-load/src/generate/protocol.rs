//! What a protocol is to the event loop.

use plimsoll_model::observation::ErrorKind;

/// Requests and their answers on a connection, without any knowledge of sockets and time.
pub(super) trait Protocol {
    /// What is known of an answer between two pieces of it.
    type Answer: Default;
    /// What is asked for.
    type Asked: Copy;

    /// What the next request asks for.
    fn choose(&mut self) -> Self::Asked;

    /// The bytes to send to the target with this index for what is `asked`, the same each time; `last` when no other request will
    /// follow on the connection.
    fn request(&mut self, asked: Self::Asked, target: usize, last: bool) -> &[u8];

    /// Takes bytes of an answer.
    ///
    /// # Errors
    /// Why the connection is of no use any more.
    fn receive(&self, answer: &mut Self::Answer, bytes: &[u8]) -> Result<Turn, ErrorKind>;

    /// Takes the end of what the server sends.
    ///
    /// # Errors
    /// When the answer was not complete.
    fn end_of_stream(&self, answer: &Self::Answer) -> Result<Turn, ErrorKind>;
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// More of the answer has to come.
    Theirs,
    /// The answer is complete.
    Ours {
        /// Whether the server will take another request; if not, it closes the connection.
        stays: bool,
        /// What was wrong with the answer, though the connection can go on.
        fault: Option<ErrorKind>,
    },
}
