//! Runs an HTTP load from flags, and prints what it found and what it cost:
//!
//! `generate ADDRESS... [connections=N | seconds=S] [concurrency=N] [generators=N] [requests=N] [close_first=server|client] [path=/] [timeout=10s]`
//!
//! `requests` is the number of requests per connection; 0 keeps connections for good.

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_load::{Control, run};
use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::frame::{LoadKind, LoadSpec};
use plimsoll_model::observation::LoadResult;
use plimsoll_model::units::Span;

fn main() -> Result<(), Box<dyn Error>> {
    let spec = specification(std::env::args().skip(1))?;
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    show(&run(&spec, &control)?);
    Ok(())
}

fn specification(arguments: impl Iterator<Item = String>) -> Result<LoadSpec, Box<dyn Error>> {
    let mut targets = Vec::new();
    let mut load = HttpLoad::default();
    for argument in arguments {
        match argument.split_once('=') {
            None => targets.push(argument.parse()?),
            Some(("connections", value)) => load.connections = Some(value.parse()?),
            Some(("seconds", value)) => load.duration = Some(Span(Duration::from_secs_f64(value.parse()?))),
            Some(("concurrency", value)) => load.concurrency = value.parse()?,
            Some(("generators", value)) => load.generators = value.parse()?,
            Some(("requests", value)) => load.requests_per_connection = value.parse()?,
            Some(("close_first", value)) => load.close_first = serde_json::from_value(value.into())?,
            Some(("path", value)) => load.path = value.into(),
            Some(("timeout", value)) => load.timeout = value.parse()?,
            Some((name, _)) => return Err(format!("there is no flag `{name}`").into()),
        }
    }
    if load.connections.is_some() == load.duration.is_some() {
        return Err("give either `connections=` or `seconds=`".into());
    }
    Ok(LoadSpec { name: "load".into(), targets, source: None, kind: LoadKind::Http(load) })
}

fn show(result: &LoadResult) {
    let seconds = result.elapsed_ns as f64 / 1e9;
    let cpu = result.user_us + result.system_us;
    let per = |n: u64| if n == 0 { f64::NAN } else { cpu as f64 / n as f64 };
    println!("elapsed      {seconds:.3} s");
    println!(
        "connections  {} ({:.0}/s, {:.2} us of CPU each)",
        result.connections,
        result.connections as f64 / seconds,
        per(result.connections)
    );
    println!(
        "requests     {} ({:.0}/s, {:.2} us of CPU each)",
        result.requests,
        result.requests as f64 / seconds,
        per(result.requests)
    );
    println!("bytes        {}", result.bytes);
    println!("CPU          {} us user, {} us system", result.user_us, result.system_us);
    let latency = &result.latency.percentiles;
    println!(
        "latency      p50 {} us, p90 {} us, p99 {} us, max {} us",
        latency.p50, latency.p90, latency.p99, latency.max
    );
    for (kind, count) in &result.errors {
        println!("error        {count} x {}", kind.title());
    }
}
