//! Any bytes as what a tool printed: each format alone, and all of them together, are read or refused; they count just the figures that they hand on, and
//! every value stands in the line that it is said to stand in.
//!
//! `READER` names the format, as `--as` does; without it all are looked for. `cargo xtask fuzz` runs each of them.
#![no_main]

#[path = "../../crates/plimsoll-import/tests/figures/stands_in.rs"]
mod stands_in;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plimsoll_import::figures::{self, Options, formats};

static OPTIONS: LazyLock<Options> = LazyLock::new(|| {
    let only = std::env::var("READER").ok().filter(|name| !name.is_empty());
    if let Some(name) = &only {
        formats::named(name).unwrap_or_else(|error| panic!("READER: {error}"));
    }
    Options { only, ..Options::default() }
});

fuzz_target!(|bytes: &[u8]| {
    let lossy = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = lossy.split('\n').collect();
    let mut given = 0;
    let read = figures::stream(bytes, &OPTIONS, &mut |figure| {
        given += 1;
        let line =
            usize::try_from(figure.line).ok().and_then(|line| lines.get(line.checked_sub(1)?)).copied();
        assert!(line.is_some_and(|line| stands_in::stands_in(line, figure.value)), "{figure:?} in {line:?}");
    });
    if let Ok(coverage) = read {
        assert_eq!(coverage.figures, given);
    }
});
