//! Runs a binary of tests and learns which of them failed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Number of last lines of a failed test that are repeated, without backtraces: the message of its panic stands at the end.
const LAST_LINES: usize = 30;

/// How a binary of tests ended.
pub(crate) struct TestRun {
    pub(crate) status: ExitStatus,
    pub(crate) passed: usize,
    pub(crate) failures: Vec<Failure>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Failure {
    pub(crate) name: String,
    /// The last lines of what it printed.
    pub(crate) printed: Vec<String>,
}

/// Runs a binary of tests, copies its output to `out`, and returns the failed tests with their output.
pub(crate) fn run(
    program: &str,
    folder: &Path,
    args: &[&str],
    out: &mut dyn Write,
) -> Result<TestRun, String> {
    let problem = |error| format!("{program}: {error}");
    let mut tests = Command::new(program);
    tests.args(args).current_dir(folder).stdout(Stdio::piped());
    let mut child = tests.spawn().map_err(problem)?;
    let printed = child.stdout.take().expect("its standard output is a pipe");
    let mut failures = Failures::default();
    for line in BufReader::new(printed).split(b'\n') {
        let line = line.map_err(problem)?;
        let line = String::from_utf8_lossy(&line);
        writeln!(out, "{line}").map_err(problem)?;
        failures.read(&line);
    }
    let status = child.wait().map_err(problem)?;
    Ok(TestRun { status, passed: failures.passed, failures: failures.found })
}

/// Results in the lines of a binary of tests so far.
#[derive(Default)]
struct Failures {
    passed: usize,
    found: Vec<Failure>,
    /// Which of them printed the lines that come now.
    printing: Option<usize>,
    in_backtrace: bool,
}

impl Failures {
    fn read(&mut self, line: &str) {
        let ended = |how: &str| line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(how));
        if let Some(name) = ended(" ... FAILED") {
            // Other makers of such binaries than Rust's own fill names up with blanks, and leave out the word below.
            self.found.push(Failure { name: name.trim_end().to_owned(), printed: Vec::new() });
        } else if ended(" ... ok").is_some() {
            self.passed += 1;
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" ----")) {
            let name = name.strip_suffix(" stdout").unwrap_or(name).trim_end();
            self.printing = self.found.iter().position(|failure| failure.name == name);
            self.in_backtrace = false;
        } else if line == "failures:" {
            // Stands before what all of them printed, and before the list of their names.
            self.printing = None;
        } else if line == "stack backtrace:" {
            self.in_backtrace = true;
        } else if self.in_backtrace {
            self.in_backtrace = !line.starts_with("note: ");
        } else if let Some(failure) = self.printing.and_then(|at| self.found.get_mut(at)) {
            let lines = &mut failure.printed;
            lines.push(line.to_owned());
            if lines.len() > LAST_LINES {
                lines.remove(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_that_failed_are_named_with_the_end_of_what_they_printed() {
        let script = r#"
            echo 'test one::fine ... ok'; printf 'test two::bad ... FAILED\n\377\n'; echo 'test three::worse ... FAILED'
            printf '\nfailures:\n\n---- two::bad stdout ----\n'; seq 100; echo 'panicked'
            printf 'stack backtrace:\n   0: main\nnote: Some details are omitted\n'
            printf -- '---- three::worse stdout ----\nleft: 1\n\nfailures:\n    two::bad\n    three::worse\n'
            exit 101"#;
        let ran = run("sh", Path::new("."), &["-c", script], &mut Vec::new()).expect("a shell");
        assert_eq!(ran.status.code(), Some(101));
        let named: Vec<_> = ran.failures.iter().map(|failure| failure.name.as_str()).collect();
        assert_eq!(named, ["two::bad", "three::worse"]);
        let [two, three] = ran.failures.as_slice() else { panic!("two") };
        assert_eq!(two.printed.len(), LAST_LINES);
        assert_eq!((two.printed[0].as_str(), two.printed[LAST_LINES - 1].as_str()), ("72", "panicked"));
        assert_eq!(three.printed, ["left: 1", ""]);
        assert_eq!(ran.passed, 1);
    }

    #[test]
    fn names_that_are_filled_up_with_blanks_lose_them() {
        let script = r#"
            echo 'test one           ... FAILED'; echo 'test another::two ... ok'
            printf '\nfailures:\n\n---- one           ----\ntest panicked: why\n\nfailures:\n    one\n'
            exit 101"#;
        let mut out = Vec::new();
        let ran = run("sh", Path::new("."), &["-c", script], &mut out).expect("a shell");
        assert!(out.starts_with(b"test one           ... FAILED\n"));
        let printed = vec!["test panicked: why".to_owned(), String::new()];
        assert_eq!(ran.failures, [Failure { name: "one".into(), printed }]);
        assert_eq!(ran.passed, 1);
    }
}
