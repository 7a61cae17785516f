//! The table of `cryptsetup benchmark`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "cryptsetup",
    tool: "cryptsetup",
    command: "cryptsetup benchmark",
    measured: &[
        "higher throughput,algorithm,key,of MiB/s: `of` encryption and decryption; `key` has its length in bits, as `256b`",
        "higher iterations_per_second,algorithm,key 1/s: `iterations per second` of key derivation",
    ],
    main: &["throughput,algorithm=aes-xts"],
    checked: Checked::Documented("https://man7.org/linux/man-pages/man8/cryptsetup-benchmark.8.html"),
    marks: &["Tests are approximate using memory", " iterations per second for ", "Encryption | "],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^# Tests are approximate using memory only{...}",
    "{@algorithm} {iterations_per_second 1/s} iterations per second for {@key}-bit key",
    "-{_} N/A",
    "-{_} {_} iterations, {_} memory, {...}",
    "-# Algorithm | Key | Encryption | Decryption",
    "-{@algorithm} {@key} {throughput,of=encryption MiB/s} MiB/s {throughput,of=decryption MiB/s} MiB/s",
    "-{_} {_} N/A N/A",
];
