//! By Slurm: salloc(1) gets a machine for as long as the run goes on, and srun(1) starts an agent on it for each trial.
//!
//! **One machine for the whole run.** What is compared is measured on the same machine: a run does not go on with another one where Slurm took the first
//! back.
//!
//! **No job is left.** A shell holds a pipe whose other end only the controller has. When the controller is gone, by whatever signal, the shell hears its
//! end and ends salloc, which gives the machine back, or takes its request out of the queue.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::Slurm;

use super::bring::{self, Program};
use super::error::Why;
use super::running::{Running, start};
use crate::slurm::leave_job;

/// What the shell does; its arguments are salloc's. Both read the same pipe, into which nothing is ever written.
const HOLD: &str = r#"command -v salloc >/dev/null || { echo "there is no program salloc here" >&2; exit 1; }
exec 3<&0
salloc "$@" sh -c 'echo "$SLURM_JOB_ID $SLURM_JOB_NODELIST"; exec cat >/dev/null' <&3 &
exec >&-
cat <&3 >/dev/null
kill -TERM $! 2>/dev/null
wait $!"#;
/// What jobs are called in Slurm's queue.
const NAME: &str = "plimsoll";
/// How often it is looked whether the machine is still wanted.
const LOOK: Duration = Duration::from_millis(50);
/// A machine that is not there after so long is told to be waited for.
const WAITS: Duration = Duration::from_secs(3);
/// How long Slurm may take to take a machine back.
const GRACE: Duration = Duration::from_secs(10);

/// The machines that Slurm has handed out for a run, by the host that each is. Dropping it gives them back.
#[derive(Debug, Default)]
pub(super) struct Allocations(Mutex<BTreeMap<String, Arc<Allocation>>>);

impl Allocations {
    /// The job of a host; it is asked for where there is none yet.
    pub(super) fn job(&self, host: &str, asked: &Slurm, interrupt: &AtomicBool) -> Result<String, Why> {
        let known = self.lock().get(host).cloned();
        if let Some(allocation) = known {
            return match allocation.is_over() {
                false => Ok(allocation.job.clone()),
                true => Err(Why::TakenBack { job: allocation.job.clone(), words: allocation.last_words() }),
            };
        }
        let allocation = Arc::new(Allocation::get(host, asked, interrupt)?);
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
        // All are told before the first is waited for, so that they end side by side.
        let all = std::mem::take(&mut *self.lock());
        all.values().for_each(|allocation| allocation.tell_to_end());
    }
}

/// A machine that Slurm has handed out, until this is dropped.
#[derive(Debug)]
struct Allocation {
    job: String,
    /// Closed when salloc is gone.
    said: Mutex<Receiver<String>>,
    holder: Mutex<Running>,
    to: Mutex<Option<ChildStdin>>,
}

impl Allocation {
    fn get(host: &str, asked: &Slurm, interrupt: &AtomicBool) -> Result<Self, Why> {
        let mut command = Command::new("sh");
        command.args(["-c", HOLD, "hold", &format!("--job-name={NAME}")]).args(asked.words());
        leave_job(&mut command);
        let (holder, to, from) = start(command)?;
        let mut allocation = Self {
            job: String::new(),
            said: Mutex::new(listen(from)?),
            holder: Mutex::new(holder),
            to: Mutex::new(Some(to)),
        };
        let began = Instant::now();
        let mut told = false;
        let given = loop {
            let said = allocation.said.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
            match said {
                Ok(given) => break given,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Why::NoMachine { words: allocation.last_words() });
                }
                Err(RecvTimeoutError::Timeout) if interrupt.load(Ordering::Acquire) => {
                    return Err(Why::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(within) = asked.start_within.filter(|within| began.elapsed() >= within.0) {
                return Err(Why::NotStarted { seconds: within.0.as_secs_f64(), words: allocation.words() });
            }
            if !told && began.elapsed() >= WAITS {
                told = true;
                tracing::info!("{host} waits for a machine in Slurm's queue: {}", allocation.words());
            }
        };
        let (job, machine) = given.split_once(' ').unwrap_or((&given, ""));
        tracing::debug!(
            "{host} is Slurm's machine {machine}, job {job}, after {:.1} s",
            began.elapsed().as_secs_f64()
        );
        allocation.job = job.to_owned();
        Ok(allocation)
    }

    fn is_over(&self) -> bool {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(said.try_recv(), Err(TryRecvError::Disconnected))
    }

    /// The last that salloc said, when it is gone.
    fn last_words(&self) -> String {
        self.tell_to_end();
        self.holder.lock().unwrap_or_else(PoisonError::into_inner).wait(GRACE);
        self.words()
    }

    /// The last that salloc said.
    fn words(&self) -> String {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner).words()
    }

    fn tell_to_end(&self) {
        *self.to.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.tell_to_end();
        let holder = self.holder.get_mut().unwrap_or_else(PoisonError::into_inner);
        if holder.wait(GRACE).is_none() {
            let job = &self.job;
            tracing::warn!(
                "salloc did not end within {} s; see to its job with: scancel {job}",
                GRACE.as_secs()
            );
        }
        holder.kill();
    }
}

/// The lines that are said, until the last who could say something is gone.
fn listen(from: ChildStdout) -> Result<Receiver<String>, Why> {
    let (tell, said) = mpsc::channel();
    let lines = move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // Nobody may want it any more.
            tell.send(line).ok();
        }
    };
    let started = thread::Builder::new().name("slurm".into()).spawn(lines);
    started.map_err(|source| Why::Here { what: "starting a thread that listens to salloc", source })?;
    Ok(said)
}

/// The command that starts the agent in a job, where it is brought along if it is missing.
pub(super) fn command(job: &str, program: &Program) -> Command {
    let mut command = Command::new("srun");
    // Frames have no lines that could be waited for; the step has all of the job's machine, beside whatever else is started in it.
    command.args(["--unbuffered", "--overlap", "--nodes=1", "--ntasks=1", "--mem=0"]);
    command.args(["--mpi=none", "--cpu-bind=none", "--input=all"]);
    command.args([&format!("--job-name={NAME}"), &format!("--jobid={job}")]);
    command.args(["/bin/sh", "-c", &bring::remote_command(program)]);
    leave_job(&mut command);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_salloc_that_is_told() {
        let mut shell = Command::new("/bin/sh");
        let told = shell.args(["-c", HOLD]).env("PATH", "/nowhere").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&told.stderr), "there is no program salloc here\n");
        assert_eq!(told.status.code(), Some(1));
    }

    #[test]
    fn the_agent_is_started_in_the_job_and_its_frames_are_not_held_back() {
        let command = command("7", &Program::of_bytes(b"program"));
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        assert!(
            ["--unbuffered", "--jobid=7"].iter().all(|one| args.iter().any(|arg| arg == one)),
            "{args:?}"
        );
        assert!(args.last().is_some_and(|script| script.starts_with("exec /bin/sh -c '")), "{args:?}");
    }
}
