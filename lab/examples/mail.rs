//! Runs a load of mail from flags, and prints what it found and what it cost:
//!
//! `mail ADDRESS... [messages=N | seconds=S] [sessions=N] [generators=N] [per_session=N] [size=BYTES] [per_minute=N] [pipelining=false]`

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_load::{Control, run};
use plimsoll_model::experiment::SmtpLoad;
use plimsoll_model::experiment::load::smtp::MessageSize;
use plimsoll_model::frame::{LoadKind, LoadSpec};
use plimsoll_model::observation::MailFacts;
use plimsoll_model::units::Span;

fn main() -> Result<(), Box<dyn Error>> {
    let mut targets = Vec::new();
    let mut load = SmtpLoad::default();
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            None => targets.push(argument.parse()?),
            Some(("messages", value)) => load.messages = Some(value.parse()?),
            Some(("seconds", value)) => load.duration = Some(Span(Duration::from_secs_f64(value.parse()?))),
            Some(("sessions", value)) => load.sessions = value.parse()?,
            Some(("generators", value)) => load.generators = value.parse()?,
            Some(("per_session", value)) => load.messages_per_session = value.parse()?,
            Some(("per_minute", value)) => load.per_minute = Some(value.parse()?),
            Some(("pipelining", value)) => load.pipelining = value.parse()?,
            Some(("size", value)) => {
                load.size =
                    MessageSize { least: value.parse()?, most: value.parse()?, ..MessageSize::default() };
            }
            Some((name, _)) => return Err(format!("there is no flag `{name}`").into()),
        }
    }
    let spec = LoadSpec {
        name: "mail".into(),
        targets,
        sources: Vec::new(),
        kind: LoadKind::Smtp(load),
        trust: None,
        volume: None,
    };
    let abort = AtomicBool::new(false);
    let found = run(&spec, &Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) })?;
    let seconds = found.elapsed_ns as f64 / 1e9;
    println!("messages  {} ({:.0} a minute)", found.requests, found.requests as f64 * 60.0 / seconds);
    println!("sessions  {}", found.connections);
    println!("CPU       {} us user, {} us system", found.user_us, found.system_us);
    for (command, latency) in found.found::<MailFacts>().into_iter().flat_map(|mail| &mail.commands) {
        let p = latency.percentiles;
        println!("{command:<12} p50 {} us, p99 {} us, max {} us", p.p50, p.p99, p.max);
    }
    for (kind, count) in &found.errors {
        println!("error     {count} x {}", kind.title());
    }
    Ok(())
}
