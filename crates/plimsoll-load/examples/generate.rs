//! Runs an HTTP load from flags, and prints what it found and what it cost:
//!
//! `generate ADDRESS... [connections=N | seconds=S] [concurrency=N] [generators=N] [requests=N] [close_first=server|client] [path=/] [timeout=10s]
//! [rate=N] [arrivals=constant|poisson] [ramp_to=N] [steps=N,N,..] [mix=RATE] [seed=N]`
//!
//! `requests` is the number of requests per connection; 0 keeps connections for good. `rate` or `steps` make it an open loop.

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_load::{Control, run};
use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::experiment::load::Mix;
use plimsoll_model::experiment::open_loop::OpenLoop;
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
    let mut open = OpenLoop::default();
    for argument in arguments {
        match argument.split_once('=') {
            None => targets.push(argument.parse()?),
            Some(("connections", value)) => load.connections = Some(value.parse()?),
            Some(("seconds", value)) => load.duration = Some(Span(Duration::from_secs_f64(value.parse()?))),
            Some(("concurrency", value)) => load.concurrency = value.parse()?,
            Some(("generators", value)) => load.generators = value.parse()?,
            Some(("requests", value)) => load.requests_per_connection = value.parse()?,
            Some(("close_first", value)) => load.close_first = serde_json::from_value(value.into())?,
            Some(("rate", value)) => open.rate = value.parse()?,
            Some(("arrivals", value)) => open.arrivals = serde_json::from_value(value.into())?,
            Some(("ramp_to", value)) => open.ramp_to = Some(value.parse()?),
            Some(("steps", value)) => {
                open.steps = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            Some(("mix", value)) => load.mix = Some(Mix { rate: Some(value.parse()?) }),
            Some(("seed", value)) => load.seed = Some(value.parse()?),
            Some(("path", value)) => load.path = value.into(),
            Some(("timeout", value)) => load.timeout = value.parse()?,
            Some((name, _)) => return Err(format!("there is no flag `{name}`").into()),
        }
    }
    if load.connections.is_some() == load.duration.is_some() {
        return Err("give either `connections=` or `seconds=`".into());
    }
    load.open = (open != OpenLoop::default()).then_some(open);
    Ok(LoadSpec { name: "load".into(), targets, sources: Vec::new(), kind: LoadKind::Http(load) })
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
    if let Some(offer) = &result.offer {
        let late = &offer.lateness_us;
        println!(
            "offered      {:.0}/s of {:.0}/s, {} held back",
            offer.achieved().unwrap_or(f64::NAN),
            offer.offered().unwrap_or(f64::NAN),
            offer.held_back
        );
        println!(
            "lateness     p50 {} us, p90 {} us, p99 {} us, max {} us",
            late.p50, late.p90, late.p99, late.max
        );
        for step in &offer.steps {
            let seconds = (step.end_ns - step.start_ns) as f64 / 1e9;
            println!(
                "step         {:.0}/s: {:.0}/s answered, {} errors, p50 {} us, p99 {} us",
                step.rate,
                step.requests as f64 / seconds,
                step.errors,
                step.latency_us.p50,
                step.latency_us.p99
            );
        }
    }
    for (kind, count) in &result.errors {
        println!("error        {count} x {}", kind.title());
    }
}
