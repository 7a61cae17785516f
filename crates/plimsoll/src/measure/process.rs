//! One run of one command: started, waited for, and what it used.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use plimsoll_assess::commands::COMMAND;
use plimsoll_host::Guard;
use plimsoll_model::experiment::service::SERVICE_MARK;
use wait4::Wait4;

use super::error::last_lines;
use super::schedstat::Scheduled;
use super::{Interrupts, Invocation, MeasureError};
use crate::args;
use crate::failure::Failure;

/// The exit status of `plimsoll run` that says that it could not be carried out.
const COULD_NOT: i32 = 3;

/// Largest part of a command's output that is read, in bytes.
const MOST_READ: u64 = 64 << 20;

/// Resources and output of a command.
#[derive(Debug)]
pub(crate) struct EndedCommand {
    /// From before it was started until it had ended.
    pub(super) wall: Duration,
    /// User and system time, of the command and of the children that it waited for.
    pub(super) cpu: Duration,
    /// The part of `wall` in which it was ready to run while others had the CPUs; `None` if that is unknown.
    pub(super) waited: Option<Duration>,
    /// The most memory that one of these processes had at a time, in bytes.
    pub(super) peak_memory: u64,
    /// Pages that it and the children that it waited for touched for the first time, or again after they were taken away.
    pub(super) page_faults: Option<u64>,
    /// Text on stdout; empty if it was not requested.
    pub(crate) stdout: Vec<u8>,
    /// Text on stderr.
    pub(crate) stderr: Vec<u8>,
}

/// The times of a command: of its clock, and of the CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) wall: Duration,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    /// The part of `wall` in which it was ready to run while others had the CPUs; `None` if that is unknown.
    pub(crate) ready: Option<Duration>,
}

/// Waiting time for a CPU within a wall time.
#[derive(Clone, Copy, Debug)]
struct Waits {
    /// The command, until its end.
    command: Scheduled,
    /// Plimsoll, to see the end.
    ours: Duration,
}

impl Waits {
    /// The time that other processes cost, given the total CPU time of the command.
    fn foreign(&self, cpu: Duration) -> Option<Duration> {
        self.command.waited_for_others(cpu).map(|waited| waited + self.ours)
    }
}

/// Where a command runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkingFolder(pub(crate) Option<PathBuf>);

/// Runs commands one after the other.
#[derive(Debug)]
pub(crate) struct Runner {
    stdout: File,
    stderr: File,
    interrupts: Interrupts,
    /// Ends what runs when this process is killed, or interrupted.
    guard: Option<Watch>,
    /// Whether a command may end with another status than 0.
    ignore_failure: bool,
    /// The times of the command that ended last.
    times: Times,
}

/// The guard, and what says whether it has to act in the end.
#[derive(Debug)]
struct Watch {
    guard: Guard,
    interrupts: Interrupts,
}

impl Drop for Watch {
    /// Processes that commands leave running on purpose live on, unless the user has ended them.
    fn drop(&mut self) {
        if !self.interrupts.seen() {
            self.guard.dismiss();
        }
    }
}

impl Runner {
    pub(crate) fn new(interrupts: Interrupts, ignore_failure: bool) -> Result<Self, MeasureError> {
        // Appending: a command may truncate or reopen its output, and two writers never overwrite each other.
        let unlinked =
            || tempfile::Builder::new().append(true).tempfile().map(tempfile::NamedTempFile::into_file);
        let file = || unlinked().map_err(MeasureError::io("make a temporary file"));
        Ok(Self {
            stdout: file()?,
            stderr: file()?,
            interrupts,
            guard: None,
            ignore_failure,
            times: Times::default(),
        })
    }

    /// A runner whose commands end at Ctrl-C, and when this process is killed.
    pub(crate) fn listening(ignore_failure: bool) -> Result<Self, Failure> {
        let runner = Self::new(Interrupts::listen()?, ignore_failure)?;
        Ok(runner.guarded(Guard::start()?))
    }

    /// The times of the command that ended last.
    pub(crate) fn times(&self) -> Times {
        self.times
    }

    /// Has what runs ended when this process is killed.
    pub(crate) fn guarded(self, guard: Guard) -> Self {
        let watch = Watch { guard, interrupts: self.interrupts.clone() };
        Self { guard: Some(watch), ..self }
    }

    /// Runs something that is not measured: it must succeed.
    pub(crate) fn run_aside(&mut self, line: &str, place: &WorkingFolder) -> Result<(), MeasureError> {
        let invocation = Invocation::Shell(line.to_owned());
        let (_, status) = self.carry_out(&invocation, place, true)?;
        self.demand(&invocation, status, true, false)
    }

    /// Runs a command that is measured. Its output is read only `with_output`.
    pub(crate) fn run(
        &mut self,
        invocation: &Invocation,
        place: &WorkingFolder,
        with_output: bool,
    ) -> Result<EndedCommand, MeasureError> {
        let (ran, status) = self.carry_out(invocation, place, with_output)?;
        if !self.ignore_failure {
            self.demand(invocation, status, with_output, true)?;
        }
        if !with_output {
            return Ok(ran);
        }
        Ok(EndedCommand { stdout: read(&mut self.stdout)?, stderr: read(&mut self.stderr)?, ..ran })
    }

    /// Runs a measurement that may end in one of several ways.
    pub(super) fn run_with(
        &mut self,
        invocation: &Invocation,
        place: &WorkingFolder,
        statuses: &[i32],
    ) -> Result<EndedCommand, MeasureError> {
        let (ran, status) = self.carry_out(invocation, place, true)?;
        match status.code() {
            Some(code) if statuses.contains(&code) => {
                Ok(EndedCommand { stdout: read(&mut self.stdout)?, stderr: read(&mut self.stderr)?, ..ran })
            }
            Some(COULD_NOT) => {
                let wrote = String::from_utf8_lossy(&read(&mut self.stderr)?).into_owned();
                Err(MeasureError::NotCarriedOut { command: invocation.to_string(), wrote })
            }
            _ => self.demand(invocation, status, true, false).and(Err(MeasureError::Interrupted)),
        }
    }

    /// Runs the program itself with these words, whatever it ends with. What the environment or the user's file sets for all its commands
    /// does not hold for this one.
    pub(crate) fn run_itself(&mut self, words: Vec<String>) -> Result<Output, MeasureError> {
        let program = std::env::current_exe().map_err(MeasureError::io("find the program itself"))?;
        let words = std::iter::once("plimsoll".to_owned()).chain(words).collect();
        let invocation = Invocation::Words { program, words };
        let mut command = self.command(&invocation, &WorkingFolder::default(), true)?;
        for variable in args::variables() {
            command.env_remove(variable);
        }
        command.env(args::CONFIG, "/dev/null");
        let (_, status) = self.carry_out_as(command, &invocation)?;
        Ok(Output { status, stdout: read(&mut self.stdout)?, stderr: read(&mut self.stderr)? })
    }

    fn carry_out(
        &mut self,
        invocation: &Invocation,
        place: &WorkingFolder,
        with_output: bool,
    ) -> Result<(EndedCommand, ExitStatus), MeasureError> {
        let command = self.command(invocation, place, with_output)?;
        self.carry_out_as(command, invocation)
    }

    fn carry_out_as(
        &mut self,
        mut command: Command,
        invocation: &Invocation,
    ) -> Result<(EndedCommand, ExitStatus), MeasureError> {
        if self.interrupts.seen() {
            return Err(MeasureError::Interrupted);
        }
        let start_error = |source| MeasureError::Start { command: invocation.to_string(), source };
        let start = Instant::now();
        let child = command.spawn().map_err(start_error)?;
        let (wall, waits, page_faults, used) =
            self.wait(child, start).map_err(MeasureError::io("wait for the command"))?;
        if self.interrupts.seen() {
            return Err(MeasureError::Interrupted);
        }
        let (user, system) = (used.rusage.utime, used.rusage.stime);
        let cpu = user + system;
        let waited = waits.and_then(|waits| waits.foreign(cpu));
        self.times = Times { wall, user, system, ready: waited };
        let ran = EndedCommand {
            wall,
            cpu,
            // A wait of Plimsoll's own that began before the command had ended counts twice, but not beyond its CPU time.
            waited: waited.map(|waited| waited.min(wall.saturating_sub(cpu))),
            peak_memory: used.rusage.maxrss,
            page_faults,
            stdout: Vec::new(),
            stderr: Vec::new(),
        };
        Ok((ran, used.status))
    }

    /// The command with its streams, in a process group of its own, so that it can be ended as a whole.
    fn command(
        &self,
        invocation: &Invocation,
        WorkingFolder(folder): &WorkingFolder,
        with_output: bool,
    ) -> Result<Command, MeasureError> {
        let mut command = match invocation {
            Invocation::Words { program, words } => {
                let mut command = Command::new(located(program, folder.as_deref()));
                command.arg0(&words[0]).args(&words[1..]);
                command
            }
            Invocation::Shell(line) => {
                let mut command = Command::new("/bin/sh");
                command.arg0("sh").arg("-c").arg(line);
                command
            }
        };
        let to = |file: &File| {
            file.set_len(0)?;
            file.try_clone().map(Stdio::from)
        };
        let prepare = MeasureError::io("prepare the command's output");
        let stdout = if with_output { to(&self.stdout) } else { Ok(Stdio::null()) };
        let (stdout, stderr) = stdout.and_then(|out| Ok((out, to(&self.stderr)?))).map_err(prepare)?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
        command.env(SERVICE_MARK, COMMAND);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        if let Some(watch) = &self.guard {
            watch.guard.mark(&mut command);
        }
        Ok(command)
    }

    /// Waits twice: once for the end, to read the clock at it, and once to learn what was used.
    fn wait(
        &self,
        child: Child,
        start: Instant,
    ) -> io::Result<(Duration, Option<Waits>, Option<u64>, wait4::ResUse)> {
        let pid = Pid::from_raw(child.id().cast_signed());
        self.interrupts.began(pid);
        self.watch(pid.as_raw())?;
        let before = Scheduled::own();
        loop {
            match waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
                Err(nix::errno::Errno::EINTR) => {}
                other => break other.map(drop)?,
            }
        }
        let wall = start.elapsed();
        let waits = before
            .zip(Scheduled::own())
            .zip(Scheduled::of(pid))
            .map(|((before, after), command)| Waits { command, ours: after.waited_since(&before) });
        let page_faults = page_faults(pid);
        // The number may be another's once it is reaped.
        self.watch(0)?;
        Ok((wall, waits, page_faults, self.interrupts.ended(|| child.wait4())?))
    }

    fn watch(&self, group: i32) -> io::Result<()> {
        self.guard.as_ref().map_or(Ok(()), |watch| watch.guard.watch(group))
    }

    /// Demands success. Some tools, such as pytest, write their errors to stdout.
    fn demand(
        &mut self,
        invocation: &Invocation,
        status: ExitStatus,
        with_output: bool,
        may_fail: bool,
    ) -> Result<(), MeasureError> {
        if status.success() {
            return Ok(());
        }
        let mut wrote = last_lines(&read(&mut self.stderr)?);
        if with_output {
            wrote += &last_lines(&read(&mut self.stdout)?);
        }
        Err(MeasureError::Failed { command: invocation.to_string(), status, wrote, may_fail })
    }
}

/// A path into the folder where the command runs; a name from PATH was made absolute before.
fn located(program: &Path, folder: Option<&Path>) -> PathBuf {
    folder.map_or_else(|| program.to_owned(), |folder| folder.join(program))
}

/// The page faults of a process that has ended and was not waited for, with those of its children (proc_pid_stat(5), fields 10 to 13).
fn page_faults(pid: Pid) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let counts: Vec<u64> =
        fields.split_ascii_whitespace().skip(7).take(4).filter_map(|field| field.parse().ok()).collect();
    (counts.len() == 4).then(|| counts.iter().sum())
}

fn read(file: &mut File) -> Result<Vec<u8>, MeasureError> {
    let mut bytes = Vec::new();
    let all = file.rewind().and_then(|()| file.take(MOST_READ).read_to_end(&mut bytes));
    all.map_err(MeasureError::io("read the command's output"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::gauge::own_peak;
    use crate::measure::of_words;

    fn runner() -> Runner {
        Runner::new(Interrupts::default(), false).unwrap()
    }

    fn shell(line: &str) -> Invocation {
        Invocation::Shell(line.into())
    }

    #[test]
    fn the_wall_time_of_a_sleeper_is_long_and_its_cpu_time_short() {
        let ran = runner().run(&shell("sleep 0.2"), &WorkingFolder::default(), false).unwrap();
        assert!(ran.wall >= Duration::from_millis(200), "{:?}", ran.wall);
        assert!(ran.cpu < Duration::from_millis(150), "{:?}", ran.cpu);
    }

    #[test]
    fn the_wait_of_a_lone_thread_is_known_and_that_of_a_shell_with_a_busy_child_is_not() {
        let mut runner = runner();
        let alone = of_words(["sleep", "0.05"].map(String::from).into());
        let ran = runner.run(&alone, &WorkingFolder::default(), false).unwrap();
        assert!(ran.waited.is_some_and(|waited| waited < ran.wall), "{ran:?}");
        let busy_child = shell("dd if=/dev/zero of=/dev/null bs=64M count=8; exit");
        assert_eq!(runner.run(&busy_child, &WorkingFolder::default(), false).unwrap().waited, None);
    }

    #[test]
    fn the_resources_are_those_of_this_command_and_not_of_the_one_before() {
        let mut runner = runner();
        let hungry = shell("head -c 200M /dev/zero | tail -c 200M > /dev/null");
        let hungry = runner.run(&hungry, &WorkingFolder::default(), false).unwrap();
        let modest = runner.run(&shell("true"), &WorkingFolder::default(), false).unwrap();
        // A child starts with the memory of this process, to which the other tests add (`exec_mmap` in Linux, fs/exec.c).
        let floor = own_peak().unwrap();
        assert!(hungry.peak_memory > 200_000_000, "{} {floor}", hungry.peak_memory);
        let most = 100_000_000.max(floor + floor / 10);
        assert!(modest.peak_memory < most, "{} {floor}", modest.peak_memory);
        assert!(modest.cpu < hungry.cpu);
    }

    #[test]
    fn each_command_has_an_output_of_its_own() {
        let mut runner = runner();
        let long = runner
            .run(&shell("echo long long line; echo aside >&2"), &WorkingFolder::default(), true)
            .unwrap();
        assert_eq!((long.stdout, long.stderr), (b"long long line\n".to_vec(), b"aside\n".to_vec()));
        assert_eq!(runner.run(&shell("echo x"), &WorkingFolder::default(), true).unwrap().stdout, b"x\n");
    }

    #[test]
    fn a_failure_names_the_status_and_the_last_words() {
        let error =
            runner().run(&shell("echo sorry >&2; exit 3"), &WorkingFolder::default(), false).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("exit status: 3") && text.contains("\n    sorry"), "{text}");
        let asks = shell("echo no such module; exit 2");
        let text = runner().run(&asks, &WorkingFolder::default(), true).unwrap_err().to_string();
        assert!(text.contains("no such module"), "pytest writes errors to stdout: {text}");
        let mut lenient = Runner::new(Interrupts::default(), true).unwrap();
        assert!(lenient.run(&shell("exit 3"), &WorkingFolder::default(), false).is_ok());
        assert!(
            lenient.run_aside("exit 3", &WorkingFolder::default()).is_err(),
            "what prepares must succeed"
        );
    }

    #[test]
    fn a_command_runs_in_its_place_and_a_relative_program_is_found_there() {
        let folder = tempfile::tempdir().unwrap();
        let place = WorkingFolder(Some(folder.path().to_owned()));
        let mut runner = runner();
        runner.run_aside("printf '#!/bin/sh\\npwd' > here; chmod +x here", &place).unwrap();
        let ran = runner.run(&of_words(vec!["./here".into()]), &place, true).unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(Path::new(printed.trim()), folder.path().canonicalize().unwrap());
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = runner()
            .run(&of_words(vec!["no-such-program".into()]), &WorkingFolder::default(), false)
            .unwrap_err();
        assert!(error.to_string().contains("cannot run `no-such-program`"), "{error}");
    }

    #[test]
    fn a_command_faults_for_every_page_that_it_touches() {
        let mut runner = runner();
        let mut faults = |line: &str| {
            runner.run(&shell(line), &WorkingFolder::default(), false).unwrap().page_faults.unwrap()
        };
        let few = faults("true");
        // `tail` keeps the last 20 MB, which are 5,120 pages of 4 KiB.
        let many = faults("head -c 20M /dev/zero | tail -c 20M >/dev/null");
        assert!(many > few + 2000, "{few} {many}");
    }
}
