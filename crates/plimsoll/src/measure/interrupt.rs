//! Ctrl-C: the command under test ends, and the measuring after it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;

/// How long a command may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Whether the user has seen enough, and the command that has to be stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    interrupted: AtomicBool,
    group: Mutex<Option<Pid>>,
}

impl Interrupts {
    /// Takes SIGINT, SIGTERM and SIGHUP over from here on. The first ends the command; a second kills it, and so does time.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let interrupts = Self::default();
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| Failure::no_signals(&error))?;
        let shared = interrupts.clone();
        let listening = std::thread::Builder::new().name("signals".into()).spawn(move || {
            for _ in signals.forever() {
                let again = shared.0.interrupted.swap(true, Ordering::SeqCst);
                shared.end_command(if again { Signal::SIGKILL } else { Signal::SIGTERM });
                let later = shared.clone();
                std::thread::spawn(move || {
                    std::thread::sleep(GRACE);
                    later.end_command(Signal::SIGKILL);
                });
            }
        });
        listening.map(|_| interrupts).map_err(|error| Failure::no_signals(&error))
    }

    /// Whether a signal came.
    pub(crate) fn seen(&self) -> bool {
        self.0.interrupted.load(Ordering::SeqCst)
    }

    /// Names the process group that has to end at a signal. It gets one that came in between.
    pub(super) fn began(&self, group: Pid) {
        *self.group() = Some(group);
        if self.seen() {
            self.end_command(Signal::SIGTERM);
        }
    }

    /// Reaps the process; meanwhile no signal goes to its number, which could be another's by then.
    pub(super) fn ended<T>(&self, reap: impl FnOnce() -> T) -> T {
        let mut group = self.group();
        *group = None;
        reap()
    }

    fn end_command(&self, signal: Signal) {
        if let Some(group) = *self.group() {
            // The process group may have ended already.
            killpg(group, signal).ok();
        }
    }

    fn group(&self) -> MutexGuard<'_, Option<Pid>> {
        self.0.group.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
