//! Any text as the saved papers of a machine: logs of the kernel, lspci, dmidecode, decode-dimms, hdparm -I, smartctl, ethtool.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_inventory::papers;

fuzz_target!(|text: &str| {
    let _ = papers::read([("paper", text)]);
});
