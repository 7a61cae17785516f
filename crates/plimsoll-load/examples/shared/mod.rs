//! What the examples that run one load from flags have in common.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_load::{Control, run};
use plimsoll_model::frame::{LoadKind, LoadSpec, Trust};
use plimsoll_model::observation::LoadResult;
use serde::de::DeserializeOwned;

/// Any of the errors that end an example.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Hands each `name=value` to `flag`, which says whether it knows it, and each other word to `word`; a word that it does not take is an
/// address.
pub(crate) fn addresses(
    mut word: impl FnMut(&str) -> bool,
    mut flag: impl FnMut(&str, &str) -> Outcome<bool>,
) -> Outcome<Vec<SocketAddr>> {
    let mut addresses = Vec::new();
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some((name, value)) if flag(name, value)? => {}
            Some((name, _)) => return Err(format!("there is no flag `{name}`").into()),
            None if word(&argument) => {}
            None => addresses.push(argument.parse()?),
        }
    }
    Ok(addresses)
}

/// A choice by its name in experiment files.
pub(crate) fn named<T: DeserializeOwned>(name: &str) -> Outcome<T> {
    Ok(serde_json::from_value(name.into())?)
}

/// Carries the load out, trusting an authority where it has TLS, prints what every load has, and lets `show` print the rest.
pub(crate) fn carry_out(
    kind: LoadKind,
    targets: Vec<SocketAddr>,
    authority: Option<String>,
    show: impl FnOnce(&LoadResult),
) -> Outcome<()> {
    let trust = authority.map(Trust::Authority);
    let spec = LoadSpec { name: "load".into(), targets, sources: Vec::new(), trust, volume: None, kind };
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    let result = run(&spec, &control)?;
    println!("elapsed      {:.3} s", result.elapsed_ns as f64 / 1e9);
    println!("CPU          {} us user, {} us system", result.user_us, result.system_us);
    show(&result);
    for (kind, count) in &result.errors {
        println!("error        {count} x {}", kind.title());
    }
    Ok(())
}
