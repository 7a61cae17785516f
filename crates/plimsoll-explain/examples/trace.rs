//! Prints the stalls of packet files as JSON, one line for each file: `cargo run --release --example trace -- FILE ...`

use std::error::Error;
use std::fs::File;

use plimsoll_explain::stalls::Analyzer;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args_os().skip(1) {
        let mut analyzer = Analyzer::new();
        let capture = plimsoll_import::packets::read(File::open(path)?, |packet| analyzer.packet(packet))?;
        println!("{}", serde_json::to_string(&analyzer.finish(capture))?);
    }
    Ok(())
}
