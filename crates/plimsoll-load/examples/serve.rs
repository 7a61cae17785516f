//! Runs a built-in service from its specification in JSON, and prints the addresses that it listens on.
//!
//! `serve '{"name":"w","listen":["127.0.0.1:8080"],"to":[],"kind":{"web":{}},"ready":{},"privileged":false}'`

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let spec = match serde_json::from_str(&argument) {
        Ok(spec) => spec,
        Err(error) => {
            eprintln!("the specification: {error}");
            return ExitCode::from(2);
        }
    };
    let Err(failure) = plimsoll_load::serve(&spec, |addresses| {
        let mut out = std::io::stdout().lock();
        for address in addresses {
            writeln!(out, "{address}")?;
        }
        writeln!(out)?;
        out.flush()
    });
    eprintln!("{failure}");
    ExitCode::FAILURE
}
