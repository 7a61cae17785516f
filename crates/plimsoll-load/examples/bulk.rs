//! Runs a bulk or a UDP load from flags, and prints what it found and what it cost:
//!
//! `bulk ADDRESS... [seconds=5] [by=write|write_more|sendfile|splice|splice_more|zerocopy] [direction=send|receive|both] [streams=1]
//! [chunk=128k]`, or `bulk udp ADDRESS... [seconds=5] [size=1448] [rate=N] [gso=true] [batch=64]`

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_load::{Control, run};
use plimsoll_model::experiment::{BulkLoad, Metric, UdpLoad};
use plimsoll_model::frame::{LoadKind, LoadSpec};
use plimsoll_model::observation::LoadResult;
use plimsoll_model::units::Span;
use serde::de::DeserializeOwned;

fn main() -> Result<(), Box<dyn Error>> {
    let spec = specification(std::env::args().skip(1))?;
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    show(&run(&spec, &control)?);
    Ok(())
}

fn specification(arguments: impl Iterator<Item = String>) -> Result<LoadSpec, Box<dyn Error>> {
    let mut targets = Vec::new();
    let (mut bulk, mut udp) = (BulkLoad::default(), UdpLoad::default());
    let mut span = Span::secs(5);
    let mut is_udp = false;
    for argument in arguments {
        match argument.split_once('=') {
            None if argument == "udp" => is_udp = true,
            None => targets.push(argument.parse()?),
            Some(("seconds", value)) => span = Span(Duration::from_secs_f64(value.parse()?)),
            Some(("by", value)) => bulk.by = named(value)?,
            Some(("direction", value)) => bulk.direction = named(value)?,
            Some(("streams", value)) => bulk.streams = value.parse()?,
            Some(("chunk", value)) => bulk.chunk = value.parse()?,
            Some(("size", value)) => udp.size = value.parse()?,
            Some(("rate", value)) => udp.packets_per_second = Some(value.parse()?),
            Some(("gso", value)) => udp.gso = value.parse()?,
            Some(("batch", value)) => udp.batch = value.parse()?,
            Some((name, _)) => return Err(format!("there is no flag `{name}`").into()),
        }
    }
    (bulk.duration, udp.duration) = (Some(span), span);
    let kind = if is_udp { LoadKind::Udp(udp) } else { LoadKind::Bulk(bulk) };
    Ok(LoadSpec { name: "load".into(), targets, sources: Vec::new(), kind })
}

fn named<T: DeserializeOwned>(name: &str) -> Result<T, serde_json::Error> {
    serde_json::from_value(name.into())
}

fn show(result: &LoadResult) {
    let figure = |metric| result.figure(metric).unwrap_or(f64::NAN);
    println!("elapsed      {:.3} s", result.elapsed_ns as f64 / 1e9);
    println!("rate         {:.3} Gbit/s", figure(Metric::BitsPerSecond) / 1e9);
    println!("CPU          {} us user, {} us system", result.user_us, result.system_us);
    if let Some(datagrams) = &result.datagrams {
        println!("datagrams    {} sent, {:.0} received/s", datagrams.sent, figure(Metric::PacketsPerSecond));
        println!("lost         {:.3} %", figure(Metric::LossShare) * 100.0);
        println!("reordered    {}, duplicates {}", datagrams.reordered, datagrams.duplicates);
        println!("jitter       {:.1} us", datagrams.jitter_us);
    }
    for stream in &result.streams {
        let Some(last) = stream.tcp.last() else { continue };
        println!(
            "stream       {} -> {}: busy {} us, limited by the window {} us, by the buffer {} us; {} retransmits, srtt {} us",
            stream.from,
            stream.to,
            last.busy_us,
            last.rwnd_limited_us,
            last.sndbuf_limited_us,
            last.retransmits,
            last.srtt_us
        );
    }
    for (kind, count) in &result.errors {
        println!("error        {count} x {}", kind.title());
    }
}
