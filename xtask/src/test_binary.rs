//! Runs a binary of tests and learns which of them failed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Runs a binary of tests, prints what it prints, and tells the names of the tests that failed.
pub(crate) fn run(program: &str, folder: &Path, args: &[&str]) -> Result<(ExitStatus, Vec<String>), String> {
    let problem = |error| format!("{program}: {error}");
    let mut tests = Command::new(program);
    tests.args(args).current_dir(folder).stdout(Stdio::piped());
    let mut child = tests.spawn().map_err(problem)?;
    let printed = child.stdout.take().expect("its standard output is a pipe");
    let mut failures = Vec::new();
    for line in BufReader::new(printed).split(b'\n') {
        let line = line.map_err(problem)?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        failures.extend(failure(&line).map(str::to_owned));
    }
    Ok((child.wait().map_err(problem)?, failures))
}

/// The name of a test, in a line that says that it failed.
fn failure(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_that_failed_are_told_by_name() {
        let script = "echo 'test one::fine ... ok'; printf 'test two::bad ... FAILED\\n\\377\\ntest three::late has been running for over 60 seconds\\n'; exit 101";
        let (status, failures) = run("sh", Path::new("."), &["-c", script]).expect("a shell");
        assert_eq!((status.code(), failures), (Some(101), vec!["two::bad".to_owned()]));
    }
}
