//! Any bytes as what a web server sends, in HTTP/1.1 and in HTTP/2. The first byte says in which pieces it comes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_load::fuzzed;

fuzz_target!(|bytes: &[u8]| {
    let Some((&piece, bytes)) = bytes.split_first() else { return };
    fuzzed::http1_answers(bytes, piece.into());
    fuzzed::http2_answers(bytes, piece.into(), 3);
});
