//! Any bytes as what a tool printed: every format, and each one alone, is read or refused, and never counts a figure that it did not hand on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_import::figures::{self, Options, formats};

fuzz_target!(|bytes: &[u8]| {
    // The first byte picks a format to read it as; most values leave it open.
    let (pick, bytes) = bytes.split_first().map_or((255, bytes), |(first, rest)| (usize::from(*first), rest));
    let only = formats::ALL.get(pick).map(|format| format.name.to_owned());
    let options = Options { only, ..Options::default() };
    let mut given = 0;
    if let Ok(coverage) = figures::stream(bytes, &options, &mut |_| given += 1) {
        assert_eq!(coverage.figures, given);
    }
});
