//! `plimsoll record`: what a machine does, in one file, for `explain`.

mod elsewhere;
mod missing;
mod packets;
mod worse;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use elsewhere::Elsewhere;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use packets::Packets;
use plimsoll_assess::watched::Moment;
use plimsoll_inventory::Inventory;
use plimsoll_model::observation::Arm;
use plimsoll_probe::Budget;
use plimsoll_probe::busiest::Sockets;
use plimsoll_probe::profile::Profiler;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::RecordArgs;
use crate::command::watch::target::{Target, own_cpu};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::messages;
use crate::recording::{
    End, Header, Line, Part, ProfileWindow, Redactor, SocketsAt, Worse, Writer, host_name,
};

/// The shortest recording: fewer moments do not show how figures scatter.
const SHORTEST: Duration = Duration::from_secs(5);
/// The time between two moments, at least and at most.
const EVERY: Duration = Duration::from_secs(1);
const MOST_APART: Duration = Duration::from_secs(5);
/// The largest part of the time spent on moments after ten seconds.
const MOMENTS: f64 = 0.002;
/// The length of a window of stacks and waits.
const WINDOW: Duration = Duration::from_secs(10);
/// How long packets may be captured.
const PACKETS: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(30);
/// The largest part of the time spent on deep counters, and as much on sockets, at first and later.
const SHARE: (f64, f64) = (0.000_5, 0.000_25);
const SELDOM: Duration = Duration::from_secs(60);
/// The time before and after a change that is kept.
const BEFORE: Duration = Duration::from_secs(60);
const AFTER: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &RecordArgs) -> Result<Exit, Failure> {
    if args.length.0 < SHORTEST {
        return Err(Failure::Usage(format!("--for {}: expected 5s or more", args.length)));
    }
    if args.packets.is_some_and(|length| !PACKETS.contains(&length.0)) {
        return Err(Failure::Usage("--packets: expected 1s to 30s".to_owned()));
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::no_signals(&error))?;
    }
    let redactor = if args.redact { Some(Redactor::of_this_machine()?) } else { None };
    let metric = args.until_worse.as_deref().map(worse::Metric::new).transpose()?;
    let mut machine = Machine::open(args)?;
    let path = args.output.clone().unwrap_or_else(default_path);
    let header = machine.header(args.redact);
    // In a shared folder, others may have put a link under a name that can be guessed.
    let writer = Writer::compressed(&path, args.output.is_none(), &header, redactor)?;
    let length = if metric.is_some() { Duration::MAX } else { args.length.0 };
    let mut kept = RecordedLines { writer, ring: metric.map(|metric| (metric, VecDeque::new())) };
    kept.writer.part(&Part::Inventory(Box::new(machine.inventory.clone())))?;
    let worse = machine.record(&mut kept, length, &stop)?;
    let size = machine.end(kept, worse.clone())?;
    report(&machine, &path, size, &header, worse.as_ref());
    // Half a recording is one, too.
    Ok(Exit::Holds)
}

fn report(machine: &Machine, path: &Path, size: u64, header: &Header, worse: Option<&Worse>) {
    for missing in &header.missing {
        if let Some(by) = &missing.allowed_by {
            messages::note(format_args!(
                "not recorded: {} ({}); allowed by: {by}",
                missing.what, missing.why
            ));
        }
    }
    let absent = header.missing.iter().filter(|it| it.allowed_by.is_none()).map(|it| it.what.as_str());
    let absent: Vec<&str> = absent.collect();
    if !absent.is_empty() {
        messages::note(format_args!("not on this machine, or hidden from everybody: {}", absent.join(", ")));
    }
    if let Some(Worse { metric, before, after, .. }) = worse {
        messages::note(format_args!("{metric} got worse: {before:.3} to {after:.3}"));
    }
    let elapsed = machine.target.watched_for().as_secs_f64();
    messages::note(format_args!(
        "{}: {:.1} kB for {elapsed:.0} s; recording took {:.2} % of a CPU",
        path.display(),
        size as f64 / 1e3,
        100.0 * machine.target.own_cost()
    ));
    messages::note(format_args!("next: plimsoll explain {}", path.display()));
}

fn default_path() -> PathBuf {
    PathBuf::from(format!("plimsoll-{}.jsonl.gz", now_ms() / 1000))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    u64::try_from(since).unwrap_or(u64::MAX)
}

/// Sleeps, at most until a signal comes.
fn sleep(time: Duration) {
    // After an early wake-up the caller looks at what has happened.
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &time.into());
}

/// Recorded lines: all of them, or the last minute until something gets worse.
struct RecordedLines {
    writer: Writer,
    ring: Option<(worse::Metric, VecDeque<(Instant, Line)>)>,
}

impl RecordedLines {
    /// Takes a line. What got worse, once it did.
    fn take(&mut self, line: Line) -> Result<Option<Worse>, Failure> {
        let Some((metric, ring)) = &mut self.ring else {
            write(&mut self.writer, line)?;
            return Ok(None);
        };
        let worse = match &line {
            Line::Moment(moment) => metric.learn(moment)?,
            Line::Part(_) => None,
        };
        ring.push_back((Instant::now(), line));
        while ring.front().is_some_and(|(at, _)| at.elapsed() > BEFORE) {
            ring.pop_front();
        }
        if worse.is_some() {
            self.release()?;
        }
        Ok(worse)
    }

    /// Writes what the ring holds, and all that follows.
    fn release(&mut self) -> Result<(), Failure> {
        let ring = self.ring.take().map(|(_, ring)| ring).unwrap_or_default();
        ring.into_iter().try_for_each(|(_, line)| write(&mut self.writer, line))
    }
}

fn write(writer: &mut Writer, line: Line) -> Result<(), Failure> {
    match line {
        Line::Moment(moment) => writer.moment(&moment),
        Line::Part(part) => writer.part(&part),
    }
}

/// A reading that is repeated as often as its cost allows.
struct Paced {
    budget: Budget,
    due: Instant,
}

impl Paced {
    fn new() -> Self {
        Self { budget: Budget::new(SHARE.0).later(SHARE.1), due: Instant::now() }
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Reads, and delays the next reading by its cost.
    fn carry_out<T>(&mut self, what: impl FnOnce() -> T) -> T {
        let before = own_cpu();
        let done = what();
        let cost = own_cpu().saturating_sub(before);
        self.due = Instant::now() + self.budget.pause(cost).clamp(EVERY, SELDOM);
        done
    }
}

/// The recorded machine, and its open sources.
struct Machine {
    target: Target,
    inventory: Inventory,
    profiler: Profiler,
    window: Instant,
    sockets: Sockets,
    refused: Option<String>,
    elsewhere: Elsewhere,
    /// How long packets are captured, and the captures under way.
    packets_for: Option<Duration>,
    packets: Option<Packets>,
    /// The first moment, whose reading showed what cannot be read.
    first: Option<Moment>,
    deep: Paced,
    look: Paced,
    others: Paced,
}

impl Machine {
    fn open(args: &RecordArgs) -> Result<Self, Failure> {
        let profiler = Profiler::of_a_machine_in_use()
            .map_err(|error| Failure::could_not(format!("stacks cannot be sampled: {error}")))?;
        let target = Target::open(&args.target)?.sparing();
        let mut sockets = Sockets::default();
        let refused = sockets.look().err().map(|error| error.to_string());
        let inventory = Inventory::read(Path::new("/"));
        Ok(Self {
            target,
            inventory,
            profiler,
            window: Instant::now(),
            sockets,
            refused,
            elsewhere: Elsewhere::default(),
            packets_for: args.packets.map(|length| length.0),
            packets: None,
            first: None,
            deep: Paced::new(),
            look: Paced::new(),
            others: Paced::new(),
        })
    }

    /// Reads everything once, to know what cannot be read.
    fn header(&mut self, redacted: bool) -> Header {
        let Self { target, deep, .. } = self;
        let first = deep.carry_out(|| target.read(true));
        let has_rules = first.counters.values.contains_key("rules.nftables");
        self.first = Some(first);
        Header {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: host_name().unwrap_or_default(),
            kernel: self.inventory.kernel.release.clone().unwrap_or_default(),
            target: self.target.name().to_owned(),
            started_unix_ms: now_ms(),
            redacted,
            missing: missing::of(&missing::Attempts {
                counters: self.target.absent(),
                inventory: &self.inventory.absent,
                profile: crate::profiler::missing(&self.profiler),
                sockets: self.refused.as_deref(),
                has_rules,
            }),
            ..Header::new()
        }
    }

    /// Records until the time is over, a signal comes, or what follows a change is recorded as well.
    fn record(
        &mut self,
        kept: &mut RecordedLines,
        length: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<Worse>, Failure> {
        let began = Instant::now();
        let mut end = began.checked_add(length);
        let mut worse = None;
        let mut due = began;
        let moments = Budget::new(1.0).later(MOMENTS);
        self.start_window();
        self.start_packets(kept)?;
        if kept.ring.is_some() {
            // Whether packets may be captured is known now, and not when something got worse.
            self.end_packets()?;
        }
        while !stop.load(Ordering::Acquire) && end.is_none_or(|end| Instant::now() < end) {
            if Instant::now() < due {
                let until = end.map_or(due, |end| due.min(end));
                sleep(until.saturating_duration_since(Instant::now()));
                continue;
            }
            let before = own_cpu();
            let change = kept.take(Line::Moment(self.moment()))?;
            let pause = moments.pause(own_cpu().saturating_sub(before)).clamp(EVERY, MOST_APART);
            // A moment that came late does not put off the next, and one that was missed is left out.
            while due <= Instant::now() {
                due += pause;
            }
            if let Some(change) = change {
                worse = Some(change);
                self.start_packets(kept)?;
                end = Instant::now().checked_add(AFTER);
            }
            for part in self.parts()? {
                kept.take(Line::Part(part))?;
            }
        }
        for part in self.end_packets()? {
            kept.take(Line::Part(part))?;
        }
        // What other namespaces counted is read seldom where there are many processes, and is known only by two readings.
        let mut last = self.target.read(true);
        last.counters.values.extend(self.elsewhere.read());
        kept.take(Line::Moment(last))?;
        if let Some(part) = self.end_window() {
            kept.take(Line::Part(part))?;
        }
        kept.release()?;
        Ok(worse)
    }

    fn moment(&mut self) -> Moment {
        let Self { target, deep, elsewhere, others, first, .. } = self;
        let mut moment = match first.take() {
            Some(first) => first,
            None if deep.is_due() => deep.carry_out(|| target.read(true)),
            None => target.read(false),
        };
        if others.is_due() {
            let counters = others.carry_out(|| elsewhere.read());
            moment.counters.values.extend(counters);
        }
        moment
    }

    /// Parts that are due beside the counters.
    fn parts(&mut self) -> Result<Vec<Part>, Failure> {
        let mut parts = Vec::new();
        if self.packets.as_ref().is_some_and(Packets::is_over) {
            parts = self.end_packets()?;
        }
        if self.look.is_due() {
            let Self { sockets, look, elsewhere, .. } = self;
            let sockets = look.carry_out(|| {
                let mut look = sockets.look()?;
                elsewhere.look().into_iter().for_each(|(namespace, other)| look.add(&namespace, other));
                Ok::<_, std::io::Error>(look)
            });
            parts.extend(sockets.ok().map(|look| Part::Sockets(SocketsAt { at_unix_ms: now_ms(), look })));
        }
        if self.window.elapsed() >= WINDOW {
            parts.extend(self.end_window());
            self.start_window();
        }
        Ok(parts)
    }

    fn start_packets(&mut self, kept: &RecordedLines) -> Result<(), Failure> {
        let start = |length| Packets::start(length, kept.writer.redactor());
        self.packets = self.packets_for.map(start).transpose()?;
        Ok(())
    }

    fn end_packets(&mut self) -> Result<Vec<Part>, Failure> {
        self.packets.take().map_or_else(|| Ok(Vec::new()), Packets::end)
    }

    fn start_window(&mut self) {
        self.window = Instant::now();
        self.profiler.start(elsewhere::namespaces(Path::new("/")));
    }

    fn end_window(&mut self) -> Option<Part> {
        self.profiler.stop(Arm::Treatment);
        let seconds = self.window.elapsed().as_secs_f64();
        let profile = self.profiler.take().into_iter().next()?;
        Some(Part::Profile(Box::new(ProfileWindow { at_unix_ms: now_ms(), seconds, profile })))
    }

    /// Writes what the kernel logged meanwhile, and the cost.
    fn end(&mut self, mut kept: RecordedLines, worse: Option<Worse>) -> Result<u64, Failure> {
        let known = self.inventory.kernel_log.last().map(|line| line.at_us);
        let log = plimsoll_inventory::kernel_log(Path::new("/"), known);
        if !log.is_empty() {
            kept.writer.part(&Part::KernelLog(log))?;
        }
        let (cpu_s, elapsed_s) = (own_cpu().as_secs_f64(), self.target.watched_for().as_secs_f64());
        kept.writer.part(&Part::End(End { cpu_s, elapsed_s, worse }))?;
        kept.writer.finish()
    }
}
