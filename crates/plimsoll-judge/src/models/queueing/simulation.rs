//! One run of a rig, event by event.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Arrivals, Discipline, Dispatch, Rig, exponential};
use crate::stats::quantile_sorted;
use crate::stats::rng::SmallRng;

/// Results after the warm-up.
pub(super) struct Outcome {
    pub(super) utilisation: f64,
    pub(super) throughput: f64,
    pub(super) load: f64,
    /// In rising order.
    responses: Vec<f64>,
}

impl Outcome {
    pub(super) fn mean(&self) -> f64 {
        crate::stats::mean(&self.responses)
    }

    pub(super) fn quantile(&self, share: f64) -> f64 {
        quantile_sorted(&self.responses, share)
    }
}

/// A time that can be ordered; the times of events are never NaN.
#[derive(Clone, Copy, PartialEq)]
struct EventTime(f64);

impl Eq for EventTime {}

impl PartialOrd for EventTime {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EventTime {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Runs from an idle rig until `jobs` jobs have been answered; the first `warm_up` of them do not count.
pub(super) fn simulate(rig: &Rig, warm_up: usize, jobs: usize, rng: &mut SmallRng) -> Outcome {
    let mut run = Run::new(rig, rng);
    let mut responses = Vec::with_capacity(jobs.saturating_sub(warm_up));
    let (mut began, mut done) = (Totals::default(), 0);
    while done < jobs {
        let Some(response) = run.step(rng) else { continue };
        done += 1;
        if done == warm_up {
            began = run.totals();
        }
        if done > warm_up {
            responses.push(response);
        }
    }
    let ended = run.totals();
    let elapsed = ended.now - began.now;
    responses.sort_unstable_by(f64::total_cmp);
    Outcome {
        utilisation: (ended.busy - began.busy) / elapsed / (rig.hosts * rig.cpus) as f64,
        throughput: responses.len() as f64 / elapsed,
        load: (ended.jobs - began.jobs) / elapsed,
        responses,
    }
}

/// Integrals over time, in seconds.
#[derive(Clone, Copy, Default)]
struct Totals {
    now: f64,
    busy: f64,
    jobs: f64,
}

struct Run<'r> {
    rig: &'r Rig,
    totals: Totals,
    hosts: Vec<Host>,
    /// When jobs come.
    coming: BinaryHeap<Reverse<EventTime>>,
    turn: usize,
}

/// A host; its jobs progress in time of its own, which runs the slower the more of them share a processor.
struct Host {
    cpus: usize,
    discipline: Discipline,
    /// How much service each running job has had since the start.
    served: f64,
    /// Value of `served` at the end of a running job, and the job's arrival.
    running: BinaryHeap<Reverse<(EventTime, EventTime)>>,
    /// When a waiting job came, and how long it will take.
    waiting: VecDeque<(f64, f64)>,
}

impl Host {
    fn jobs(&self) -> usize {
        self.running.len() + self.waiting.len()
    }

    /// Seconds of service that each running job gets in a second.
    fn speed(&self) -> f64 {
        (self.cpus as f64 / self.running.len() as f64).min(1.0)
    }

    fn busy(&self) -> usize {
        self.running.len().min(self.cpus)
    }

    /// Seconds until the next job is done.
    fn next(&self) -> Option<f64> {
        let Reverse((EventTime(end), _)) = self.running.peek()?;
        Some((end - self.served).max(0.0) / self.speed())
    }

    fn pass(&mut self, seconds: f64) {
        if !self.running.is_empty() {
            self.served += seconds * self.speed();
        }
    }

    fn take(&mut self, came: f64, takes: f64) {
        if self.discipline == Discipline::Shared || self.running.len() < self.cpus {
            self.running.push(Reverse((EventTime(self.served + takes), EventTime(came))));
        } else {
            self.waiting.push_back((came, takes));
        }
    }

    /// Ends the job that is done first. The result is its arrival time.
    fn finish(&mut self) -> Option<f64> {
        let Reverse((EventTime(end), EventTime(came))) = self.running.pop()?;
        self.served = self.served.max(end);
        if let Some((next_came, takes)) = self.waiting.pop_front() {
            self.take(next_came, takes);
        }
        Some(came)
    }
}

impl<'r> Run<'r> {
    fn new(rig: &'r Rig, rng: &mut SmallRng) -> Self {
        let host = || Host {
            cpus: rig.cpus,
            discipline: rig.discipline,
            served: 0.0,
            running: BinaryHeap::new(),
            waiting: VecDeque::new(),
        };
        let hosts = (0..rig.hosts).map(|_| host()).collect();
        let mut run = Self { rig, totals: Totals::default(), hosts, coming: BinaryHeap::new(), turn: 0 };
        let first = match rig.arrivals {
            Arrivals::Poisson(_) | Arrivals::Constant(_) => 1,
            Arrivals::Users { count, .. } => count,
        };
        for _ in 0..first {
            run.send(rng);
        }
        run
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    /// Lets another job come after the time between jobs, or after a user has thought.
    fn send(&mut self, rng: &mut SmallRng) {
        let after = match self.rig.arrivals {
            Arrivals::Poisson(rate) => exponential(1.0 / rate, rng),
            Arrivals::Constant(rate) => 1.0 / rate,
            Arrivals::Users { think, .. } => exponential(think, rng),
        };
        self.coming.push(Reverse(EventTime(self.totals.now + after)));
    }

    /// Goes on to the next event; the response time of a job that was done.
    fn step(&mut self, rng: &mut SmallRng) -> Option<f64> {
        let done = (0..self.hosts.len())
            .filter_map(|host| Some((EventTime(self.hosts[host].next()?), host)))
            .min()
            .map(|(EventTime(after), host)| (self.totals.now + after, host));
        let comes = self.coming.peek().map_or(f64::INFINITY, |Reverse(EventTime(at))| *at);
        match done {
            Some((at, host)) if at <= comes => {
                self.pass(at);
                let came = self.hosts[host].finish()?;
                if matches!(self.rig.arrivals, Arrivals::Users { .. }) {
                    self.send(rng);
                }
                Some(at - came)
            }
            _ => {
                self.pass(comes);
                self.coming.pop();
                let host = self.choose(rng);
                let takes = self.rig.service.draw(rng);
                self.hosts[host].take(comes, takes);
                if !matches!(self.rig.arrivals, Arrivals::Users { .. }) {
                    self.send(rng);
                }
                None
            }
        }
    }

    fn pass(&mut self, until: f64) {
        let seconds = until - self.totals.now;
        self.totals.busy += seconds * self.hosts.iter().map(Host::busy).sum::<usize>() as f64;
        self.totals.jobs += seconds * self.hosts.iter().map(Host::jobs).sum::<usize>() as f64;
        self.totals.now = until;
        for host in &mut self.hosts {
            host.pass(seconds);
        }
    }

    fn choose(&mut self, rng: &mut SmallRng) -> usize {
        match self.rig.dispatch {
            Dispatch::Random => rng.below(self.hosts.len()),
            Dispatch::RoundRobin => {
                self.turn = (self.turn + 1) % self.hosts.len();
                self.turn
            }
            Dispatch::LeastBusy => {
                let least = self.hosts.iter().map(Host::jobs).min().unwrap_or(0);
                let free: Vec<usize> =
                    (0..self.hosts.len()).filter(|&host| self.hosts[host].jobs() == least).collect();
                free[rng.below(free.len())]
            }
        }
    }
}
