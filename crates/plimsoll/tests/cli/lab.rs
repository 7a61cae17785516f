//! A lab for each test: a folder, a file of runs, and a user who starts the program.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// The user and group that stand for an ordinary user where the tests are run by root: nobody's, by long custom.
const NOBODY: u32 = 65534;

/// Time limit of a command in seconds, far above that of the slowest on a busy machine.
const HANGS_AFTER: &str = "400";

/// Shell script that becomes the program, in a user namespace of its own: it forbids further ones, and gives up the rights over
/// this one.
const FORBID_USER_NAMESPACES: &str =
    "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";

/// A place where the program is run. Its folder goes when it is dropped.
pub(crate) struct Lab {
    folder: tempfile::TempDir,
    /// The words before the program's own.
    as_whom: Vec<String>,
    program: PathBuf,
    /// Consent that the user gives to every run, as `--allow` takes it.
    allowed: &'static str,
}

impl Lab {
    /// For the user who runs the tests.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        Self { folder, as_whom: Vec::new(), program: env!("CARGO_BIN_EXE_plimsoll").into(), allowed: "" }
    }

    pub(crate) fn of_root() -> Self {
        assert!(nix::unistd::geteuid().is_root(), "this test needs root; `cargo xtask test` runs it");
        Self::new()
    }

    /// For an ordinary user: the one who runs the tests, or `nobody` in place of root.
    pub(crate) fn of_ordinary_user() -> Self {
        let mut lab = Self::new();
        if nix::unistd::geteuid().is_root() {
            fs::set_permissions(lab.folder(), fs::Permissions::from_mode(0o755)).expect("allowed");
            chown(lab.folder(), Some(NOBODY), Some(NOBODY)).expect("allowed");
            // Nobody may not enter the folder where the program was built. Another process copies it: while this one had it open
            // for writing, a child that another test starts would, too, and the copy could not be executed.
            let copy = lab.path("plimsoll");
            let copied = Command::new("install").args(["-m", "755"]).args([&lab.program, &copy]).status();
            assert!(copied.expect("install starts").success());
            lab.program = copy;
            let identity =
                [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".into()];
            lab.as_whom = ["setpriv".to_owned()].into_iter().chain(identity).collect();
        }
        lab
    }

    /// A lab whose user consents to these kinds of effects, with commas between them.
    pub(crate) fn allowing(mut self, kinds: &'static str) -> Self {
        self.allowed = kinds;
        self
    }

    /// Forbids user namespaces to the user.
    pub(crate) fn without_user_namespaces(mut self) -> Self {
        let confine =
            ["unshare", "--user", "--map-root-user", "sh", "-c", FORBID_USER_NAMESPACES, "confined"];
        self.as_whom.extend(confine.map(str::to_owned));
        self
    }

    /// Mounts a file system of this many kilobytes in the lab's folder `small`.
    pub(crate) fn with_small_disk(mut self, kilobytes: u32) -> Self {
        let small = self.path("small");
        fs::create_dir(&small).expect("allowed");
        let mount = format!("mount -t tmpfs -o size={kilobytes}k small {} && exec \"$@\"", small.display());
        let words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", &mount, "mounted"];
        self.as_whom.extend(words.map(str::to_owned));
        self
    }

    /// Uses another copy of the program, which these words start.
    pub(crate) fn by(mut self, words: &[String], program: &Path) -> Self {
        self.as_whom.extend(words.iter().cloned());
        program.clone_into(&mut self.program);
        self
    }

    /// Puts all of it into a command that root starts.
    pub(crate) fn within(mut self, words: &[&str]) -> Self {
        self.as_whom.splice(0..0, words.iter().map(ToString::to_string));
        self
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Puts a file there that everybody may read; its name serves as the name of an experiment.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("allowed");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("allowed");
        path.display().to_string()
    }

    /// Runs the program to its end.
    pub(crate) fn plimsoll(&self, args: &[&str]) -> Printed {
        self.plimsoll_in(args, &[])
    }

    /// Runs the program to its end, and again if the result is invalid or undecided, as a busy machine may make it. The last of three tries counts in
    /// any case.
    pub(crate) fn plimsoll_until_decided(&self, args: &[&str]) -> Printed {
        let mut output = self.plimsoll(args);
        for _ in 0..2 {
            if output.code == Some(4) {
                output = self.plimsoll(args);
            }
        }
        output
    }

    /// Runs the program to its end, with more in its environment.
    pub(crate) fn plimsoll_in(&self, args: &[&str], environment: &[(&str, &str)]) -> Printed {
        let mut command = self.command(&["timeout", "--kill-after=5", HANGS_AFTER], args);
        let output = command.envs(environment.iter().copied()).stdin(Stdio::null()).output();
        Printed::new(args, output.expect("the program starts"))
    }

    /// Runs the program to its end, with this text on its standard input.
    pub(crate) fn plimsoll_reading(&self, args: &[&str], text: &str) -> Printed {
        let input = self.file("input", text);
        let mut command = self.command(&["timeout", "--kill-after=5", HANGS_AFTER], args);
        let output = command.stdin(fs::File::open(input).expect("it was just written")).output();
        Printed::new(args, output.expect("the program starts"))
    }

    /// Runs a shell script in which `$PLIMSOLL` is the program.
    pub(crate) fn script(&self, script: &str) -> Printed {
        let mut command = self.command_of(&["timeout", "--kill-after=5", HANGS_AFTER], "sh".as_ref());
        command.args(["-c", script]).env("PLIMSOLL", &self.program).stdin(Stdio::null());
        Printed::new(&[script], command.output().expect("the shell starts"))
    }

    /// Starts the program, and lets it run.
    pub(crate) fn start(&self, args: &[&str]) -> Process {
        let child = self
            .command(&[], args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Process { args: args.join(" "), child: Some(child) }
    }

    /// Starts a shell script in which `$0` is the program, and lets it run; a script that ends in `exec` becomes what it executes.
    pub(crate) fn start_script(&self, script: &str) -> Process {
        let mut command = self.command_of(&[], "sh".as_ref());
        command.args(["-c", script]).arg(&self.program).stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the shell starts");
        Process { args: script.to_owned(), child: Some(child) }
    }

    /// Report of the running run so far; `None` if it has stored nothing.
    pub(crate) fn stored(&self) -> Option<Value> {
        let output = self.plimsoll(&["show", "latest", "--format", "json"]);
        (!output.stdout.is_empty()).then(|| output.json())
    }

    /// Waits until the running run has stored its baseline, and returns it. The flood is then under way.
    pub(crate) fn wait_for_the_flood(&self) -> Value {
        let mut baseline = Value::Null;
        wait_until("the baseline is stored", || {
            baseline = self.stored().map_or(Value::Null, |report| baseline_of(&report));
            !baseline.is_null()
        });
        baseline
    }

    fn command(&self, before: &[&str], args: &[&str]) -> Command {
        let mut command = self.command_of(before, self.program.as_ref());
        command.args(args);
        command
    }

    /// A command with nothing of the environment of the tests but the path.
    fn command_of(&self, before: &[&str], program: &OsStr) -> Command {
        let words = before.iter().map(OsStr::new).chain(self.as_whom.iter().map(OsStr::new)).chain([program]);
        let words: Vec<&OsStr> = words.collect();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .current_dir(self.folder())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder())
            .env("XDG_STATE_HOME", self.path("state"));
        if !self.allowed.is_empty() {
            command.env("PLIMSOLL_ALLOW", self.allowed);
        }
        command
    }
}

/// The output of the program, and how it ended.
#[derive(Debug)]
pub(crate) struct Printed {
    args: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Printed {
    fn new(args: &[&str], output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("it speaks UTF-8");
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Self { args: args.join(" "), code: output.status.code(), stdout, stderr }
    }

    /// Everything, for the message of a failed test.
    fn all(&self) -> String {
        let Self { args, code, stdout, stderr } = self;
        format!("plimsoll {args}\nexit status {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }

    /// Checks the exit status.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.all());
        self
    }

    /// Checks that the exit status fits the verdicts: 1 where a claim fails, else 4 where one is open, else 0.
    #[track_caller]
    pub(crate) fn exits_as_it_judges(self) -> Self {
        let report = self.json();
        let verdicts = report["verdicts"].as_array().unwrap_or_else(|| panic!("no verdicts: {}", self.all()));
        let fails = |verdict: &Value| verdict["holds"] == false || verdict["outcome"] == "not_recovered";
        let is_open = |verdict: &Value| verdict["outcome"] == "undecided" || verdict["outcome"] == "invalid";
        let code = match (verdicts.iter().any(fails), verdicts.iter().any(is_open)) {
            (true, _) => 1,
            (false, true) => 4,
            (false, false) => 0,
        };
        self.exits(code)
    }

    /// Requires a text in the results, regardless of line breaks.
    #[track_caller]
    pub(crate) fn prints(self, text: &str) -> Self {
        assert!(on_one_line(&self.stdout).contains(text), "`{text}` is not on stdout of {}", self.all());
        self
    }

    /// Requires a text in the messages, regardless of line breaks.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(on_one_line(&self.stderr).contains(text), "`{text}` is not on stderr of {}", self.all());
        self
    }

    /// A run as text: at most 20 lines, or 30 with a table, a command to run next, and the verdict as the last line.
    #[track_caller]
    pub(crate) fn fits_on_a_screen(self) -> Self {
        let lines: Vec<&str> = self.stdout.lines().collect();
        let is_row = |line: &str| line.starts_with("  ") && line.trim().contains("  ");
        let has_table = lines.windows(2).any(|both| both.iter().all(|line| is_row(line)));
        let most = if has_table { 30 } else { 20 };
        assert!(lines.len() <= most, "{} lines of at most {most}: {}", lines.len(), self.all());
        let last = lines.last().copied().unwrap_or_default();
        assert!(last.starts_with("Verdict: "), "`{last}` is no verdict: {}", self.all());
        let before = lines.iter().rev().skip(1).take(2);
        assert!(
            before.into_iter().any(|line| line.contains("plimsoll ")),
            "no command comes next: {}",
            self.all()
        );
        self
    }

    /// Requires an empty standard output.
    #[track_caller]
    pub(crate) fn prints_nothing(self) -> Self {
        assert!(self.stdout.is_empty(), "there are results: {}", self.all());
        self
    }

    /// Requires an empty standard error.
    #[track_caller]
    pub(crate) fn says_nothing(self) -> Self {
        assert!(self.stderr.is_empty(), "there are messages: {}", self.all());
        self
    }

    /// The results, which are one JSON value and nothing else.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.all()))
    }
}

/// Text with every stretch of blanks, line breaks and box drawing as one blank.
fn on_one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || ('\u{2500}'..='\u{257f}').contains(&c));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A running program. It is killed on drop, also by a failed test.
pub(crate) struct Process {
    args: String,
    child: Option<Child>,
}

impl Process {
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Whether one of its threads has started a process that is still there.
    pub(crate) fn has_started_processes(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.id())).into_iter().flatten().flatten();
        let children =
            |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        threads.map(children).any(|children| !children.trim().is_empty())
    }

    /// The standard output from now on; it is missing from the output at the end.
    pub(crate) fn stdout(&mut self) -> ChildStdout {
        self.child.as_mut().expect("it runs").stdout.take().expect("nobody has taken it before")
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().expect("it was started").try_wait().expect("it can be asked").is_some()
    }

    /// Sends a signal, as Ctrl-C and `kill` do.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.id()).expect("a process id fits in an i32");
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }

    pub(crate) fn ends(mut self) -> Printed {
        let child = self.child.take().expect("it runs");
        Printed::new(&[&self.args], child.wait_with_output().expect("it can be waited for"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Waits until a condition holds, for as long as a busy machine may take.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < give_up, "waited for two minutes in vain until {what}");
        thread::sleep(Duration::from_millis(30));
    }
}

/// The names of the phases that were measured in a trial of a report, in order.
pub(crate) fn phases_of(trial: &Value) -> Vec<&str> {
    let phases = trial["phases"].as_array().expect("a trial has phases");
    phases.iter().map(|phase| phase["name"].as_str().expect("a phase has a name")).collect()
}

/// The baseline of the treatment in the first trial of a report, without its warm-up; null before it is stored.
pub(crate) fn baseline_of(report: &Value) -> Value {
    let phases = report["trials"][0]["phases"].as_array().cloned().unwrap_or_default();
    let is_baseline = |phase: &Value| {
        phase["name"] == "baseline" && phase["kind"] == "measure" && phase["arm"] == "treatment"
    };
    phases.into_iter().find(is_baseline).unwrap_or_default()
}

/// The only verdict of a report.
pub(crate) fn verdict_of(report: &Value) -> &Value {
    let verdicts = report["verdicts"].as_array().expect("a report has verdicts");
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    &verdicts[0]
}
