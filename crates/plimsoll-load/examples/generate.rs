//! Runs an HTTP load from flags, and prints what it found and what it cost:
//!
//! `generate ADDRESS... [connections=N | seconds=S] [concurrency=N] [generators=N] [requests=N] [pipeline=N] [close_first=server|client] [path=/] [timeout=10s]
//! [rate=N] [arrivals=constant|poisson] [ramp_to=N] [steps=N,N,..] [mix=RATE] [seed=N]
//! [version=http1|http2] [streams=N] [authority=FILE [resume=true]]`
//!
//! `requests` is the number of requests per connection; 0 keeps connections for good. `rate` or `steps` make it an open loop. With the
//! certificate of an authority (PEM) it is over TLS.

mod shared;

use std::time::Duration;

use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::experiment::load::http::{HttpFacts, Mix};
use plimsoll_model::experiment::open_loop::OpenLoop;
use plimsoll_model::frame::LoadKind;
use plimsoll_model::observation::LoadResult;
use plimsoll_model::units::Span;
use shared::{Outcome, addresses, carry_out, named};

fn main() -> Outcome<()> {
    let mut load = HttpLoad::default();
    let mut open = OpenLoop::default();
    let mut authority = None;
    let targets = addresses(
        |_| false,
        |name, value| {
            match name {
                "connections" => load.connections = Some(value.parse()?),
                "seconds" => load.duration = Some(Span(Duration::from_secs_f64(value.parse()?))),
                "concurrency" => load.concurrency = value.parse()?,
                "generators" => load.generators = value.parse()?,
                "requests" => load.requests_per_connection = value.parse()?,
                "pipeline" => load.pipeline = value.parse()?,
                "close_first" => load.close_first = named(value)?,
                "rate" => open.rate = value.parse()?,
                "arrivals" => open.arrivals = named(value)?,
                "ramp_to" => open.ramp_to = Some(value.parse()?),
                "steps" => open.steps = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
                "mix" => load.mix = Some(Mix { rate: Some(value.parse()?) }),
                "version" => load.version = named(value)?,
                "streams" => load.streams = value.parse()?,
                "resume" => load.resume = value.parse()?,
                "authority" => {
                    load.tls = true;
                    authority = Some(std::fs::read_to_string(value)?);
                }
                "seed" => load.seed = Some(value.parse()?),
                "path" => load.path = value.into(),
                "timeout" => load.timeout = value.parse()?,
                _ => return Ok(false),
            }
            Ok(true)
        },
    )?;
    if load.connections.is_some() == load.duration.is_some() {
        return Err("give either `connections=` or `seconds=`".into());
    }
    load.open = (open != OpenLoop::default()).then_some(open);
    carry_out(LoadKind::Http(load), targets, authority, show)
}

fn show(result: &LoadResult) {
    let seconds = result.elapsed_ns as f64 / 1e9;
    let cpu = result.user_us + result.system_us;
    let per = |n: u64| if n == 0 { f64::NAN } else { cpu as f64 / n as f64 };
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
    let latency = &result.latency.percentiles;
    println!(
        "latency      p50 {} us, p90 {} us, p99 {} us, max {} us",
        latency.p50, latency.p90, latency.p99, latency.max
    );
    if let Some(facts) = result.found::<HttpFacts>() {
        let at = |share| facts.handshakes.value_at_quantile(share);
        let (number, resumed) = (facts.handshakes.len(), facts.resumed);
        println!("handshakes   {number}, {resumed} resumed, p50 {} us, p99 {} us", at(0.5), at(0.99));
    }
    if let Some(offer) = &result.offer {
        let late = &offer.send_lag_us;
        println!(
            "offered      {:.0}/s of {:.0}/s, {} queued",
            offer.achieved().unwrap_or(f64::NAN),
            offer.offered().unwrap_or(f64::NAN),
            offer.queued
        );
        println!(
            "send lag     p50 {} us, p90 {} us, p99 {} us, max {} us",
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
}
