//! Probes of the hops of a path: datagrams of several sizes that expire at each router in turn.
//!
//! First the hops are found, one by one, as traceroute does (Jacobson 1988); then probes of all sizes go to all hops in random order, as
//! pathchar's do (Jacobson 1997). Several are on their way at a time, but far enough apart that none queues behind another.

mod socket;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use plimsoll_model::experiment::HopsLoad;
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{ErrorKind, LoadResult, ProbedHop, ProbedPath, ProbedSize};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use self::socket::{ProbeSocket, Reply};
use super::Control;
use super::progress::ProgressReporter;
use super::tally::Tally;
use crate::clock::{self, CpuTime};
use crate::failure::other;

/// How often a hop is asked who it is before it is taken for silent.
const ASKED: u32 = 3;
/// After this many silent hops in a row, no answer is expected from beyond them.
const MOST_SILENT: usize = 4;
/// Probes of the smallest and of the largest size that show how long the links need for a packet.
const SAMPLES: u32 = 4;
/// The ports that probes go to in turn, so that each answer names its probe.
const PORTS: u16 = 8192;
/// How long the prober sleeps at most, so that it hears of an early end, in nanoseconds.
const LONGEST_SLEEP: u64 = 50_000_000;

/// Runs a load of probes to its end.
///
/// # Errors
/// When it cannot start at all: no IPv4 target, no socket, probes that are larger than the first link takes.
pub(super) fn run(spec: &LoadSpec, load: &HopsLoad, control: &Control<'_>) -> Result<LoadResult, Failure> {
    let failed = |error: io::Error| other("probe the path", &error);
    let mut prober = Prober::new(spec, load, control).map_err(failed)?;
    let path = prober.find().and_then(|path| prober.measure(path)).map_err(failed)?;
    let start = prober.tally_start;
    let mut tally = prober.tally;
    tally.cpu = CpuTime::of_this_thread().since(prober.cpu);
    let mut result = tally.into_result(start, 1);
    result.facts = Some(path.into());
    Ok(result)
}

/// A probe on its way.
#[derive(Clone, Copy)]
struct Flying {
    hop: usize,
    size: usize,
    sent_ns: u64,
}

struct Prober<'a> {
    load: &'a HopsLoad,
    control: &'a Control<'a>,
    target: Ipv4Addr,
    socket: ProbeSocket,
    sizes: Vec<u32>,
    /// By the port that each goes to.
    flying: BTreeMap<u16, Flying>,
    sent: u64,
    random: SmallRng,
    tally: Tally,
    tally_start: u64,
    cpu: CpuTime,
    progress: ProgressReporter<'a>,
}

impl<'a> Prober<'a> {
    fn new(spec: &LoadSpec, load: &'a HopsLoad, control: &'a Control<'a>) -> io::Result<Self> {
        let v4 = |address: &IpAddr| match address {
            IpAddr::V4(address) => Some(*address),
            IpAddr::V6(_) => None,
        };
        let target = spec.targets.iter().map(SocketAddr::ip).find_map(|address| v4(&address));
        let target = target.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "there is no IPv4 address to probe")
        })?;
        let source = spec.sources.iter().find_map(v4).unwrap_or(Ipv4Addr::UNSPECIFIED);
        let start = clock::now();
        Ok(Self {
            load,
            control,
            target,
            socket: ProbeSocket::open(source, target, load.largest)?,
            sizes: load.ladder(),
            flying: BTreeMap::new(),
            sent: 0,
            random: SmallRng::seed_from_u64(start),
            tally: Tally::new(start, None),
            tally_start: start,
            cpu: CpuTime::of_this_thread(),
            progress: ProgressReporter::new(control, None),
        })
    }

    /// Finds the addresses on the path.
    fn find(&mut self) -> io::Result<ProbedPath> {
        let mut path = ProbedPath::default();
        while path.hops.len() < self.load.most_hops as usize && !path.reached && !self.must_end() {
            let hop = path.hops.len();
            let answer = self.ask(hop, 0, ASKED)?.map(|(answer, _)| answer);
            path.reached = answer.is_some_and(|answer| !answer.expired && answer.from == self.target);
            // Another host that reports the end of the route ends the path, too.
            let ended = answer.is_some_and(|answer| !answer.expired);
            path.hops
                .push(ProbedHop { address: answer.map(|answer| answer.from.to_string()), sizes: Vec::new() });
            let silent = path.hops.iter().rev().take_while(|hop| hop.address.is_none()).count();
            if silent == MOST_SILENT {
                path.hops.truncate(hop + 1 - silent);
                break;
            }
            if ended {
                break;
            }
        }
        Ok(path)
    }

    /// Sends one probe at a time to a hop until one is answered, at most `times`. Returns the answer and the round-trip
    /// time in nanoseconds.
    fn ask(&mut self, hop: usize, size: usize, times: u32) -> io::Result<Option<(Reply, u64)>> {
        for _ in 0..times {
            let port = self.send(hop, size)?;
            let sent_ns = self.flying[&port].sent_ns;
            let give_up = sent_ns + self.timeout();
            while clock::now() < give_up && !self.must_end() {
                while let Some(answer) = self.socket.receive()? {
                    if answer.port == port {
                        self.flying.remove(&port);
                        return Ok(Some((answer, answer.at_ns.saturating_sub(sent_ns))));
                    }
                }
                self.wait(give_up)?;
            }
            self.flying.remove(&port);
        }
        Ok(None)
    }

    /// Sends all probes to all hops that answer, and gathers what they say.
    fn measure(&mut self, mut path: ProbedPath) -> io::Result<ProbedPath> {
        let sizes = |bytes: &[u32]| -> Vec<ProbedSize> {
            bytes.iter().map(|&bytes| ProbedSize { bytes, ..ProbedSize::default() }).collect()
        };
        for hop in path.hops.iter_mut().filter(|hop| hop.address.is_some()) {
            hop.sizes = sizes(&self.sizes);
        }
        let answering = path.hops.iter().enumerate().filter(|(_, hop)| hop.address.is_some());
        let each = answering.flat_map(|(hop, _)| (0..self.sizes.len()).map(move |size| (hop, size)));
        let mut round: Vec<(usize, usize)> = each.collect();
        let gap = self.gap(&path)?;
        let mut next = clock::now();
        for _ in 0..self.load.probes {
            round.shuffle(&mut self.random);
            for &(hop, size) in &round {
                while clock::now() < next {
                    self.take_answers(&mut path)?;
                    self.wait(next)?;
                }
                if self.must_end() {
                    return Ok(path);
                }
                self.take_answers(&mut path)?;
                self.send(hop, size)?;
                path.hops[hop].sizes[size].sent += 1;
                next = clock::now() + gap + self.random.random_range(0..=gap);
            }
        }
        let last = clock::now() + self.timeout();
        while !self.flying.is_empty() && clock::now() < last && !self.must_end() {
            self.wait(last)?;
            self.take_answers(&mut path)?;
        }
        self.forget(u64::MAX);
        Ok(path)
    }

    /// The least time between two probes, in nanoseconds: longer than any link needs for the largest probe, or for its answer.
    fn gap(&mut self, path: &ProbedPath) -> io::Result<u64> {
        let least = clock::nanoseconds(self.load.spacing.0).max(1);
        let Some(last) = path.hops.iter().rposition(|hop| hop.address.is_some()) else { return Ok(least) };
        let (small, large) = (self.fastest(last, 0)?, self.fastest(last, self.sizes.len() - 1)?);
        Ok(small.zip(large).map_or(least, |(small, large)| least.max(large.saturating_sub(small))))
    }

    /// The shortest of some round-trip times, in nanoseconds; `None` if nothing was answered.
    fn fastest(&mut self, hop: usize, size: usize) -> io::Result<Option<u64>> {
        let mut best = None::<u64>;
        for _ in 0..SAMPLES {
            let took = self.ask(hop, size, 1)?.map(|(_, took)| took);
            best = best.into_iter().chain(took).min();
        }
        Ok(best)
    }

    /// Sends a probe, and gives the port that it went to.
    fn send(&mut self, hop: usize, size: usize) -> io::Result<u16> {
        let port = self.load.port + (self.sent % u64::from(PORTS)) as u16;
        self.sent += 1;
        let sent_ns = self.socket.send(port, hop as u32 + 1, self.sizes[size])?;
        self.flying.insert(port, Flying { hop, size, sent_ns });
        Ok(port)
    }

    /// Takes the answers that are there, and gives up those that are overdue.
    fn take_answers(&mut self, path: &mut ProbedPath) -> io::Result<()> {
        while let Some(answer) = self.socket.receive()? {
            let Some(probe) = self.flying.remove(&answer.port) else { continue };
            let hop = &mut path.hops[probe.hop];
            // Where routes change, others answer: theirs is another path.
            if hop.address.as_deref() != Some(answer.from.to_string().as_str()) {
                self.tally.error(ErrorKind::Unreachable, answer.at_ns);
                continue;
            }
            hop.sizes[probe.size].answer_bytes = answer.bytes;
            hop.sizes[probe.size].rtt_ns.push(answer.at_ns.saturating_sub(probe.sent_ns));
            self.tally.request(probe.sent_ns, probe.sent_ns, answer.at_ns, answer.at_ns);
            self.tally.end = self.tally.end.max(answer.at_ns);
        }
        self.forget(clock::now().saturating_sub(self.timeout()));
        self.progress.report(self.tally.requests, self.tally.failed());
        Ok(())
    }

    /// Gives up the probes that were sent before.
    fn forget(&mut self, before: u64) {
        let now = clock::now();
        let overdue: Vec<u16> =
            self.flying.iter().filter(|(_, probe)| probe.sent_ns < before).map(|(port, _)| *port).collect();
        for port in overdue {
            self.flying.remove(&port);
            self.tally.error(ErrorKind::Timeout, now);
        }
    }

    /// Sleeps until there is an answer, but no longer than until then.
    fn wait(&self, until: u64) -> io::Result<()> {
        let left = until.saturating_sub(clock::now()).min(LONGEST_SLEEP);
        // Poll reports queued errors without a request.
        let mut wait = [PollFd::new(self.socket.as_fd(), PollFlags::empty())];
        match ppoll(&mut wait, Some(TimeSpec::from(Duration::from_nanos(left))), None) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn must_end(&self) -> bool {
        self.control.abort.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn timeout(&self) -> u64 {
        clock::nanoseconds(self.load.timeout.0)
    }
}
