//! Datagrams at a rate: flows side by side, each a socket and a thread.

mod flow;
mod train;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Builder};

use plimsoll_model::experiment::UdpLoad;
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::LoadResult;

pub(super) use self::flow::Flow;
pub(super) use self::train::Spacing;
use super::Control;
use super::progress::ProgressReporter;
use super::tally::Tally;
use crate::failure::other;
use crate::transfer::packet;
use crate::{clock, descriptors};

/// Common state of a load's flows while they run.
pub(super) struct Shared<'a> {
    pub(super) load: &'a UdpLoad,
    pub(super) abort: &'a std::sync::atomic::AtomicBool,
    pub(super) start: u64,
    pub(super) sent: AtomicU64,
}

/// Runs a load of datagrams to its end.
///
/// # Errors
/// When it cannot start at all: no target, a service that does not count, no socket, no thread.
pub(super) fn run(spec: &LoadSpec, load: &UdpLoad, control: &Control<'_>) -> Result<LoadResult, Failure> {
    descriptors::make_room(u64::from(load.flows) * 2)?;
    let flows =
        (0..load.flows as usize).map(|nth| Flow::open(spec, load, nth)).collect::<Result<Vec<_>, _>>();
    let flows = flows.map_err(|error| other("begin to send datagrams", &error))?;
    let start = clock::now();
    let running = Shared { load, abort: control.abort, start, sent: AtomicU64::new(0) };
    let mut tally = Tally::new(start, None);
    let mut counted = Vec::new();
    thread::scope(|scope| {
        let (done, finished) = channel();
        for flow in flows {
            let (done, running) = (done.clone(), &running);
            // The receiver is there until every thread has ended.
            let body = move || drop(done.send(flow.work(running)));
            Builder::new()
                .name("datagrams".into())
                .spawn_scoped(scope, body)
                .map_err(|error| other("start a flow", &error))?;
        }
        drop(done);
        let mut progress = ProgressReporter::new(control, None);
        loop {
            match finished.recv_timeout(control.every) {
                Ok(done) => {
                    tally.merge(done.tally);
                    counted.push((done.intended, done.sent, done.counts));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => progress.report(running.sent.load(Ordering::Relaxed), 0),
            }
        }
    })?;
    if counted.len() < load.flows as usize {
        return Err(other("send datagrams", &"a flow has panicked"));
    }
    let mut result = tally.into_result(start, load.flows);
    let datagrams = packet::together(&counted);
    result.bytes = datagrams.received * u64::from(load.size);
    result.facts = Some(datagrams.into());
    Ok(result)
}
