//! Replies of DNS, as a fuzz target calls their reader.

use super::answer::fault;
use super::bank::HEADER;

/// The question: the name `a.`, its type and its class.
const ASKED: &[u8] = b"\x01a\0\0\x01\0\x01";

/// Any bytes as the header of a reply to a question, and as its records.
pub fn dns_reply(bytes: &[u8]) {
    let Some((header, rest)) = bytes.split_at_checked(HEADER) else { return };
    let reply = [header, ASKED, rest].concat();
    if fault(&reply, ASKED).is_none() {
        let longer = [&reply, &b"x"[..]].concat();
        assert!(fault(&longer, ASKED).is_some(), "a byte behind the last record is not noticed: {reply:?}");
    }
}
