//! Any text as saved outputs that describe a machine: logs of the kernel, lspci, dmidecode, decode-dimms, hdparm -I, smartctl, ethtool.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_inventory::saved_outputs;

fuzz_target!(|text: &str| {
    let _ = saved_outputs::read([("mail", text)]);
});
