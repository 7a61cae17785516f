//! Allocations of a run: machines of Slurm's, or pods of Kubernetes'. A shell of a few lines requests each and gives it back; this module is the
//! controller's end of that shell.
//!
//! **One machine for the whole run.** Comparisons need measurements on the same machine: a run does not continue on another one after the queue
//! took the first back.
//!
//! **Nothing is left in the queue.** The shell holds a pipe whose other end only the controller has. After the controller's death, by whatever
//! signal, the pipe ends, and the shell gives the machine back or withdraws its request.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_model::units::Span;

use super::error::ErrorKind;
use super::running::{RemoteCommand, start};

/// Time between two checks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);
/// How long a machine may take before the user sees a message that it is awaited.
const WAITS: Duration = Duration::from_secs(3);
/// Deadline for a queue to take a machine back.
const GRACE: Duration = Duration::from_secs(10);

/// A request to a queue.
pub(super) struct Request {
    /// Name of the queue.
    pub(super) queue: &'static str,
    /// The shell that requests. It prints one line when it has a machine: the name of the job, and details for readers. At the end of its standard
    /// input it gives the machine back and ends; it also ends when the queue took the machine back.
    pub(super) shell: Command,
    /// Longest wait for the machine.
    pub(super) start_within: Option<Span>,
    /// The command that removes a job by hand, without the job's name.
    pub(super) removed_by: &'static str,
}

/// Allocated machines of a run, by host. Dropping it gives them back.
#[derive(Debug, Default)]
pub(super) struct Allocations(Mutex<BTreeMap<String, Arc<Allocation>>>);

impl Allocations {
    /// Job of a host; requests one if there is none.
    pub(super) fn job(
        &self,
        host: &str,
        request: impl FnOnce() -> Request,
        interrupt: &AtomicBool,
    ) -> Result<String, ErrorKind> {
        let known = self.lock().get(host).cloned();
        if let Some(allocation) = known {
            return match allocation.is_over() {
                false => Ok(allocation.job.clone()),
                true => Err(ErrorKind::TakenBack {
                    queue: allocation.queue,
                    job: allocation.job.clone(),
                    words: allocation.last_words(),
                }),
            };
        }
        let allocation = Arc::new(Allocation::get(host, request(), interrupt)?);
        let job = allocation.job.clone();
        self.lock().insert(host.to_owned(), allocation);
        Ok(job)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Allocation>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Allocations {
    fn drop(&mut self) {
        // All get the order before the wait for the first, so that they end side by side.
        let all = std::mem::take(&mut *self.lock());
        all.values().for_each(|allocation| allocation.request_end());
    }
}

/// An allocated machine, until this is dropped.
#[derive(Debug)]
struct Allocation {
    job: String,
    queue: &'static str,
    removed_by: &'static str,
    /// Closed when the shell has lost the machine.
    said: Mutex<Receiver<String>>,
    holder: Mutex<RemoteCommand>,
    to: Mutex<Option<ChildStdin>>,
}

impl Allocation {
    fn get(host: &str, request: Request, interrupt: &AtomicBool) -> Result<Self, ErrorKind> {
        let Request { queue, shell, start_within, removed_by } = request;
        let (holder, to, from) = start(shell)?;
        let mut allocation = Self {
            job: String::new(),
            queue,
            removed_by,
            said: Mutex::new(listen(from)?),
            holder: Mutex::new(holder),
            to: Mutex::new(Some(to)),
        };
        let began = Instant::now();
        let mut reported = false;
        let given = loop {
            let said = allocation.said.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
            match said {
                Ok(given) => break given,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ErrorKind::NoMachine { queue, words: allocation.last_words() });
                }
                Err(RecvTimeoutError::Timeout) if interrupt.load(Ordering::Acquire) => {
                    return Err(ErrorKind::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(within) = start_within.filter(|within| began.elapsed() >= within.0) {
                return Err(ErrorKind::NotStarted {
                    queue,
                    seconds: within.0.as_secs_f64(),
                    words: allocation.words(),
                });
            }
            if !reported && began.elapsed() >= WAITS {
                reported = true;
                tracing::info!("{host} waits for {queue}: {}", allocation.words());
            }
        };
        let (job, machine) = given.split_once(' ').unwrap_or((&given, ""));
        tracing::debug!(
            "{host} is {machine}, job {job} of {queue}, after {:.1} s",
            began.elapsed().as_secs_f64()
        );
        allocation.job = job.to_owned();
        Ok(allocation)
    }

    fn is_over(&self) -> bool {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(said.try_recv(), Err(TryRecvError::Disconnected))
    }

    /// Last words of the shell, after its end.
    fn last_words(&self) -> String {
        self.request_end();
        self.holder.lock().unwrap_or_else(PoisonError::into_inner).wait(GRACE);
        self.words()
    }

    /// End of the shell's standard error so far.
    fn words(&self) -> String {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner).words()
    }

    fn request_end(&self) {
        *self.to.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.request_end();
        let holder = self.holder.get_mut().unwrap_or_else(PoisonError::into_inner);
        if holder.wait(GRACE).is_none() {
            let Self { queue, removed_by, job, .. } = self;
            tracing::warn!(
                "{queue} did not take a machine back within {} s; see to it with: {removed_by} {job}",
                GRACE.as_secs()
            );
        }
        holder.kill();
    }
}

/// Lines of the shell's output, until all writers are gone.
fn listen(from: ChildStdout) -> Result<Receiver<String>, ErrorKind> {
    let (sender, said) = mpsc::channel();
    let lines = move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // The receiver may be gone.
            sender.send(line).ok();
        }
    };
    let started = thread::Builder::new().name("queue".into()).spawn(lines);
    started
        .map_err(|source| ErrorKind::Local { what: "starting a thread that listens to the queue", source })?;
    Ok(said)
}
