//! Any text as what vmstat, sar or `perf script` wrote.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // What it is shows from its beginning.
    for begin in ["", " r b in cs us sy id\n", "Linux 6.1 (host)\n\n21:24:01 CPU %user %idle\n"] {
        let _ = plimsoll_import::saved::read(&format!("{begin}{text}"));
    }
});
