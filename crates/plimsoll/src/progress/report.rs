//! The report of a run in progress.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// A program that opens pages and lives for longer than this has opened one.
const OPENED: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);

/// Writes the page of the trials so far. The result says whether there is a file: a page that goes to a pipe is not written twice.
type Write = Box<dyn Fn() -> Result<bool, Failure> + Send + Sync>;

/// The page of a run under way.
pub(crate) struct ReportSoFar {
    run: String,
    page: PathBuf,
    write: Write,
    /// Set if the report opens after the current trial.
    pub(super) wanted: AtomicBool,
}

impl ReportSoFar {
    /// The page is the one that the run writes at its end.
    pub(crate) fn new(run: &str, page: &Path, write: Write) -> Self {
        Self { run: run.to_owned(), page: page.to_owned(), write, wanted: AtomicBool::new(false) }
    }

    /// Writes the page and has it opened; what became of that, for the screen.
    pub(super) fn open(&self) -> String {
        let path = self.page.display();
        match (self.write)() {
            Err(failure) => format!("the report so far cannot be written: {failure}"),
            Ok(false) => {
                format!(
                    "the page goes to {path}, which is written once: `plimsoll show {} --format html`",
                    self.run
                )
            }
            Ok(true) => match opener().map(|program| (opened_by(&program, &self.page), program)) {
                Some((true, program)) => {
                    format!("the report so far was given to {}: {path}", Path::new(&program).display())
                }
                _ => format!("the report so far: {path}"),
            },
        }
    }
}

/// The program that opens pages for the user: `BROWSER` or the desktop's. `None` if there is no desktop, as at the other end of ssh,
/// and under sudo, where it would run as another user than the one who looks.
fn opener() -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    opener_for(&set)
}

fn opener_for(set: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if set("SUDO_UID").is_some() {
        return None;
    }
    // A list of commands; only the first can be waited for (as xdg-open reads it).
    let named = set("BROWSER").and_then(|list| list.split(':').next().map(ToOwned::to_owned));
    let desktop = || ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().find_map(set);
    let remote = || set("SSH_CONNECTION").is_some();
    named
        .filter(|name| !name.is_empty())
        .or_else(|| (!remote() && desktop().is_some()).then(|| "xdg-open".to_owned()))
}

/// Whether a program took a page: it goes on, or ended without an error.
fn opened_by(program: &str, page: &Path) -> bool {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
    // As shells do, with what the user wrote there: a program and perhaps options, and `%s` for the page where it is not the last word.
    let mut words: Vec<&OsStr> = program.split_whitespace().map(OsStr::new).collect();
    match words.iter_mut().find(|word| **word == "%s") {
        Some(place) => *place = page.as_os_str(),
        None => words.push(page.as_os_str()),
    }
    let Some((program, options)) = words.split_first().filter(|(_, options)| !options.is_empty()) else {
        return false;
    };
    let mut command = Command::new(program);
    command.args(options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let deadline = Instant::now() + OPENED;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline => thread::sleep(POLL),
            _ => break,
        }
    }
    // The wait reaps the browser's process while the run goes on.
    thread::Builder::new().name("browser".into()).spawn(move || child.wait()).ok();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_opened_by_the_program_that_was_named_or_on_a_desktop_that_is_here() {
        let of = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> =
                set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            opener_for(&move |name| {
                set.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
            })
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("DISPLAY", ":0")]).as_deref(), Some("xdg-open"));
        assert_eq!(of(&[("DISPLAY", "localhost:10.0"), ("SSH_CONNECTION", "a 1 b 22")]), None);
        let named = [("BROWSER", "firefox:lynx"), ("SSH_CONNECTION", "a 1 b 22")];
        assert_eq!(of(&named).as_deref(), Some("firefox"));
        assert_eq!(of(&[("DISPLAY", ":0"), ("SUDO_UID", "1000")]), None);
    }

    #[test]
    fn a_program_that_fails_or_is_not_there_has_opened_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.html");
        std::fs::write(&page, "text").unwrap();
        assert!(!opened_by("/no/such/browser", &page));
        assert!(!opened_by("false", &page));
        let copied = folder.path().join("copied");
        assert!(opened_by(&format!("cp %s {}", copied.display()), &page));
        assert_eq!(std::fs::read_to_string(copied).unwrap(), "text");
    }
}
