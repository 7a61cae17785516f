//! `plimsoll watch`: what holds this host down right now.

mod draw;
mod keep;
pub(super) mod lines;
mod screen;
pub(super) mod target;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_assess::watched::{Moment, State, Watched};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::{PlainFormat, WatchArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::messages;
use crate::output::full_screen;
use crate::recording::{self, Writer};

use target::Target;

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(100);
/// How long hours are kept under the unit that is printed when nothing is said.
const KEPT: Duration = Duration::from_secs(400 * 86_400);
/// How soon a signal is noticed.
const NOTICED: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &WatchArgs) -> Result<Exit, Failure> {
    if args.every.0 < SHORTEST {
        return Err(Failure::Usage(format!("--every {}: expected 100ms or more", args.every)));
    }
    if args.unit {
        keep::print_unit(args.keep.unwrap_or(KEPT), args.bound)?;
        return Ok(Exit::Holds);
    }
    if let Some(path) = &args.kept {
        keep::show(path)?;
        return Ok(Exit::Holds);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::no_signals(&error))?;
    }
    if let Some(hours) = args.keep {
        keep::run(args, hours, &stop)?;
        return Ok(if stop.load(Ordering::Acquire) { Exit::Interrupted } else { Exit::Holds });
    }
    let whole = !args.no_live
        && args.format == PlainFormat::Text
        && io::stdout().is_terminal()
        && full_screen::is_fit();
    match &args.replay {
        Some(path) => {
            let moments = recording::read(path)?.moments;
            if whole {
                screen::replay(&moments, &stop)?;
            } else {
                let mut watched = Watched::default();
                let states = moments.iter().filter_map(|moment| watched.take(moment));
                let most =
                    args.count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
                let mut printed = lines::Lines::new(args.format);
                for state in states.take(most) {
                    printed.print(&state)?;
                }
            }
        }
        None => {
            let mut live = Live::open(args)?;
            if whole {
                screen::live(&mut live, args.count, &stop)?;
            } else {
                let mut printed = lines::Lines::new(args.format);
                let mut left = args.count;
                while left != Some(0) && live.wait(&stop) {
                    if let Some(state) = live.look()? {
                        printed.print(&state)?;
                        left = left.map(|left| left - 1);
                    }
                }
            }
            live.print_cost();
        }
    }
    Ok(if stop.load(Ordering::Acquire) { Exit::Interrupted } else { Exit::Holds })
}

/// A host that is looked at while it goes on.
struct Live {
    target: Target,
    recording: Option<Writer>,
    watched: Watched,
    every: Duration,
    due: Instant,
}

impl Live {
    fn open(args: &WatchArgs) -> Result<Self, Failure> {
        let target = Target::open(&args.target)?;
        let recording = args.record.as_deref().map(Writer::plain).transpose()?;
        Ok(Self { target, recording, watched: Watched::default(), every: args.every.0, due: Instant::now() })
    }

    /// Waits until it is time to look again; false when it is to end.
    fn wait(&self, stop: &AtomicBool) -> bool {
        loop {
            if stop.load(Ordering::Acquire) {
                return false;
            }
            match self.due.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return true,
                left => thread::sleep(left.min(NOTICED)),
            }
        }
    }

    /// Prints the share of a CPU that watching took.
    fn print_cost(&self) {
        let (share, seconds) = (self.target.own_cost(), self.target.watched_for().as_secs_f64());
        messages::note(format_args!("watching took {:.2} % of a CPU in {seconds:.0} s", 100.0 * share));
    }

    /// Looks, and returns the host's state; nothing at the first time.
    fn look(&mut self) -> Result<Option<State>, Failure> {
        let moment = self.read(false);
        if let Some(recording) = &mut self.recording {
            recording.moment(&moment)?;
        }
        Ok(self.watched.take(&moment))
    }

    /// Looks, also at what takes longer where that is asked for.
    fn read(&mut self, deep: bool) -> Moment {
        // A look that came late does not put off the next, and one that was missed is left out.
        let now = Instant::now();
        while self.due <= now {
            self.due += self.every;
        }
        self.target.read(deep)
    }
}
