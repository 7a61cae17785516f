//! Carries out the load of a specification in JSON, and prints its result in JSON. Fails where a request failed.

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_load::{Control, run};
use plimsoll_model::frame::LoadSpec;

fn main() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args().nth(1).ok_or("expected: load SPECIFICATION")?;
    let spec: LoadSpec = serde_json::from_str(&argument)?;
    let abort = AtomicBool::new(false);
    let result = run(&spec, &Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) })?;
    if result.failed() > 0 {
        return Err(format!("{} failed, the first: {:?}", result.failed(), result.first_error).into());
    }
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}
