//! Any bytes as what a mail server says, and as what a client does. The first byte says in which pieces it comes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_load::fuzzed;

fuzz_target!(|bytes: &[u8]| {
    let Some((&piece, bytes)) = bytes.split_first() else { return };
    fuzzed::smtp_replies(bytes, piece.into(), 3);
    fuzzed::smtp_commands(bytes, piece.into());
});
