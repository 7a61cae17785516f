//! Capacity of a path for TCP at a rate: trains of datagrams, the limits of both hosts, and TCP's own rate.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use plimsoll_model::experiment::{BulkLoad, DiagnoseLoad, UdpLoad};
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{DiagnoseFacts, LoadResult, PathFacts, Progress, TcpLimits, Train};

use super::udp::{Flow, Spacing};
use super::{Control, bulk};
use crate::failure::other;
use crate::transfer::opening::{self, Opening};
use crate::transfer::tcp_limits;

/// The headers of a datagram: IP and UDP, in bytes.
const DATAGRAM_HEADERS: u32 = 28;
/// Length of a frame.
const FRAME_HEADER: u32 = 14;
/// The shortest time between datagrams that are far apart.
const APART: Duration = Duration::from_micros(500);
/// Datagrams that are far apart take no more than this part of the rate.
const APART_PART: u64 = 4;
/// A sender that fell behind catches up with datagrams at this part of their usual distance, in per cent.
const CLOSER: u64 = 85;
/// How long the service may take to answer.
const SERVICE_WITHIN: Duration = Duration::from_secs(10);

/// Carries the load out.
///
/// # Errors
/// When it cannot start: no target, a service that does not count, settings that cannot be read.
pub(super) fn run(
    spec: &LoadSpec,
    load: &DiagnoseLoad,
    control: &Control<'_>,
) -> Result<LoadResult, Failure> {
    let failed = |error: io::Error| other("diagnose the path", &error);
    let receiver = limits_of_service(spec).map_err(failed)?;
    let sender = tcp_limits::read(Path::new("/")).map_err(failed)?;
    // As long as a segment of TCP.
    let size = load.segment + DiagnoseLoad::HEADERS - DATAGRAM_HEADERS;
    let udp = UdpLoad { size, ..UdpLoad::default() };
    let mut done = 0;
    let mut train = |count: u64, spacing: Spacing| -> Result<Train, Failure> {
        (control.progress)(Progress { done, ..Progress::default() });
        let train = Flow::open(spec, &udp, 0).and_then(|flow| flow.train(count, spacing, control.abort));
        let train = train.map_err(failed)?;
        done += train.received;
        Ok(train)
    };
    let nominal = u64::from(load.segment) * 8 * 1_000_000_000 / load.rate.0;
    let apart = Duration::from_nanos(APART_PART * nominal).max(APART);
    let count = load.duration.0.as_nanos() as u64 / nominal.max(1);
    let apart = train(load.packets.into(), Spacing::of(apart, 100))?;
    let at_rate = train(count.max(2), Spacing::of(Duration::from_nanos(nominal), CLOSER))?;
    let bursts =
        (0..load.bursts).map(|_| train(load.burst().into(), Spacing::NONE)).collect::<Result<_, _>>()?;
    let bulk = BulkLoad { duration: Some(load.duration), ..BulkLoad::default() };
    let mut result = bulk::run(spec, &bulk, control)?;
    let frame_bytes = size + DATAGRAM_HEADERS + FRAME_HEADER;
    let path = PathFacts { frame_bytes, apart, at_rate, bursts, sender, receiver };
    result.facts = Some(DiagnoseFacts { path, streams: result.streams().to_vec() }.into());
    Ok(result)
}

/// Asks the service what TCP may use on its host.
fn limits_of_service(spec: &LoadSpec) -> io::Result<TcpLimits> {
    let target =
        spec.targets.first().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it has no target"))?;
    let mut stream = TcpStream::connect_timeout(target, SERVICE_WITHIN)?;
    stream.set_read_timeout(Some(SERVICE_WITHIN))?;
    opening::open(&mut stream, &Opening::Limits)?;
    opening::receive(&mut stream)
}
