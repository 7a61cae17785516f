//! Runs a bulk or a UDP load from flags, and prints what it found and what it cost:
//!
//! `bulk ADDRESS... [seconds=5] [by=write|write_more|sendfile|splice|splice_more|zerocopy] [direction=send|receive|both] [streams=1]
//! [chunk=128k]`, or `bulk udp ADDRESS... [seconds=5] [size=1448] [rate=N] [gso=true] [batch=64]`

#[path = "../../crates/plimsoll-load/examples/shared/mod.rs"]
mod shared;

use std::time::Duration;

use plimsoll_model::experiment::{BulkLoad, Metric, UdpLoad};
use plimsoll_model::frame::LoadKind;
use plimsoll_model::observation::{Datagrams, LoadResult};
use plimsoll_model::units::Span;
use shared::{Outcome, addresses, carry_out, named};

fn main() -> Outcome<()> {
    let (mut bulk, mut udp) = (BulkLoad::default(), UdpLoad::default());
    let mut span = Span::secs(5);
    let mut is_udp = false;
    let word = |word: &str| {
        is_udp |= word == "udp";
        word == "udp"
    };
    let targets = addresses(word, |name, value| {
        match name {
            "seconds" => span = Span(Duration::from_secs_f64(value.parse()?)),
            "by" => bulk.by = named(value)?,
            "direction" => bulk.direction = named(value)?,
            "streams" => bulk.streams = value.parse()?,
            "chunk" => bulk.chunk = Some(value.parse()?),
            "size" => udp.size = value.parse()?,
            "rate" => udp.packets_per_second = Some(value.parse()?),
            "gso" => udp.gso = value.parse()?,
            "batch" => udp.batch = value.parse()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    (bulk.duration, udp.duration) = (Some(span), span);
    carry_out(if is_udp { LoadKind::Udp(udp) } else { LoadKind::Bulk(bulk) }, targets, None, show)
}

fn show(result: &LoadResult) {
    let figure = |metric| result.figure(metric).unwrap_or(f64::NAN);
    println!("rate         {:.6} Gbit/s", figure(Metric::BitsPerSecond) / 1e9);
    if let Some(datagrams) = result.found::<Datagrams>() {
        println!("datagrams    {} sent, {:.0} received/s", datagrams.sent, figure(Metric::PacketsPerSecond));
        println!("lost         {:.3} %", figure(Metric::LossShare) * 100.0);
        println!("reordered    {}, duplicates {}", datagrams.reordered, datagrams.duplicates);
        println!("jitter       {:.1} us", datagrams.jitter_us);
    }
    for stream in result.streams() {
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
}
