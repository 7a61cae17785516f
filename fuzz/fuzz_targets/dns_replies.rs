//! Any bytes as a reply of a DNS server.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| plimsoll_load::fuzzed::dns_reply(bytes));
