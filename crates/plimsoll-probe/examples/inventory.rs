//! Prints what this machine is, in JSON; with the name of a file that says what it should be, what differs as well.
//!
//! `cargo run -p plimsoll-probe --example inventory [EXPECTED]`

use std::path::Path;
use std::process::ExitCode;

use plimsoll_probe::inventory::{Expectation, Inventory, compare};

fn main() -> ExitCode {
    let inventory = Inventory::read(Path::new("/"));
    println!("{}", serde_json::to_string_pretty(&inventory).expect("an inventory has a form in JSON"));
    let Some(file) = std::env::args().nth(1) else { return ExitCode::SUCCESS };
    let text = std::fs::read_to_string(file).expect("a file that says what is expected");
    let deviations = match Expectation::parse(&text) {
        Ok(expected) => compare(&expected, &inventory),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    for deviation in &deviations {
        let found = deviation.found.as_deref().unwrap_or("nothing");
        eprintln!("{}: expected {}, found {found}", deviation.path, deviation.expected);
    }
    ExitCode::from(u8::from(!deviations.is_empty()))
}
