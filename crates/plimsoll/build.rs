//! Links the program at a fixed address. Otherwise the loader adjusts 254,000 pointers at every start, which took a third of the time that a program needs
//! to pass the gate (docs/decisions/008-fixed-address.md).

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| var(name).is_ok_and(|text| text.split(',').any(|word| word == value));
    // A static program has the flag of its own (`cargo xtask dist`), and other linkers have other words for it.
    if is("CARGO_CFG_TARGET_ENV", "gnu") && !is("CARGO_CFG_TARGET_FEATURE", "crt-static") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
