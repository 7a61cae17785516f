//! Errors at the edge, with advice to the user.

use std::ops::Range;
use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report};
use plimsoll_model::experiment::FileError;
use plimsoll_report::escape::{block, terminal};
use plimsoll_run::RunError;
use plimsoll_store::StoreError;

use crate::messages;
use crate::task_files::MESSAGES;

/// Why the program could not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments make no sense.
    Usage(String),
    /// An experiment file cannot be used.
    File {
        /// The file, or the name of a shipped experiment.
        name: String,
        /// The error in the file.
        error: Box<FileError>,
    },
    /// The command could not do its work.
    CouldNot {
        /// What happened.
        what: String,
        /// What the user can do.
        advice: Option<String>,
    },
}

impl Failure {
    /// An action that failed, without advice.
    pub(crate) fn could_not(what: impl Into<String>) -> Self {
        Self::CouldNot { what: what.into(), advice: None }
    }

    /// A file that could not be read or written.
    pub(crate) fn io(operation: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::could_not(format!("cannot {operation} {}: {error}", path.display()))
    }

    /// Signals that cannot be received.
    pub(crate) fn no_signals(error: &std::io::Error) -> Self {
        Self::could_not(format!("cannot listen for Ctrl-C: {error}"))
    }

    /// Writes it to stderr.
    pub(crate) fn print(&self) {
        match self {
            Self::Usage(what) => messages::say(format_args!("plimsoll: {what}")),
            Self::File { name, error } => {
                error.all().for_each(|error| messages::drawn(&render(name, error)));
                if error.next.is_some() {
                    messages::say(format_args!("plimsoll: {name}: {} errors", error.all().count()));
                }
            }
            Self::CouldNot { what, advice } => {
                messages::say(format_args!("plimsoll: {what}"));
                if let Some(advice) = advice {
                    messages::say(format_args!("  try: {advice}"));
                }
            }
        }
    }
}

/// In a sentence, without advice.
impl std::fmt::Display for Failure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(what) | Self::CouldNot { what, .. } => out.write_str(what),
            Self::File { name, error } => write!(out, "{name}: {}", error.message),
        }
    }
}

/// The line, a caret under the place, what was expected, and the nearest valid name.
fn render(name: &str, error: &FileError) -> String {
    let mut help = Vec::new();
    help.extend(error.expected.as_ref().map(|expected| format!("expected {expected}")));
    help.extend(error.nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?")));
    let mut diagnostic = MietteDiagnostic::new(block(&error.message).into_owned());
    if !help.is_empty() {
        diagnostic = diagnostic.with_help(block(&help.join("\n")).into_owned());
    }
    let (text, span) = shortened(&error.text, error.span.clone());
    let (text, span) = shown(&text, span);
    if let Some(span) = span {
        diagnostic = diagnostic.with_label(LabeledSpan::underline(span));
    }
    let report = Report::new(diagnostic).with_source_code(NamedSource::new(terminal(name), text));
    let theme = if messages::stderr_has_colour() {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(messages::stderr_width());
    // Writing to a string cannot fail.
    handler.render_report(&mut text, report.as_ref()).ok();
    text
}

/// Longest line of a file that an error shows, in bytes. Formatting refuses widths above 65,535.
const LONGEST_SHOWN: usize = 400;

/// Text whose long lines are cut to the part around a span, and the span in it.
fn shortened(text: &str, span: Option<Range<usize>>) -> (String, Option<Range<usize>>) {
    let mut out = String::with_capacity(text.len());
    let mut moved = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let of_line = span.clone().filter(|span| (start..end).contains(&span.start));
        let from = match (&of_line, line.len() > LONGEST_SHOWN) {
            (Some(span), true) => {
                text.floor_char_boundary(start.max(span.start.saturating_sub(LONGEST_SHOWN / 4)))
            }
            _ => start,
        };
        let to = if line.len() > LONGEST_SHOWN {
            text.floor_char_boundary(end.min(from + LONGEST_SHOWN))
        } else {
            end
        };
        if let Some(span) = of_line {
            let here = out.len();
            let inside = |place: usize| here + place.clamp(from, to) - from;
            moved = Some(inside(span.start)..inside(span.end));
        }
        out.push_str(&text[from..to]);
        if to < end {
            out.push('\n');
        }
        start = end;
    }
    // A span behind the last line stands at the end.
    let moved = moved.or_else(|| span.map(|_| out.len()..out.len()));
    (out, moved)
}

/// A file's text as a terminal may show it, and where a place in it is then.
fn shown(text: &str, span: Option<Range<usize>>) -> (String, Option<Range<usize>>) {
    let line_ends = |text: &str| block(&text.replace("\r\n", "\n")).into_owned();
    let place = span.and_then(|span| {
        let before = line_ends(text.get(..span.start)?);
        let there = line_ends(text.get(span)?);
        Some(before.len()..before.len() + there.len())
    });
    (line_ends(text), place)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let advice = match &error {
            StoreError::Full { .. }
            | StoreError::Folder { .. }
            | StoreError::Open { .. }
            | StoreError::Claim { .. } => Some("another place with --store FILE"),
            StoreError::Newer { .. } => Some("a newer plimsoll, or another file with --store FILE"),
            StoreError::Older { .. } => {
                Some("the plimsoll that wrote it, or another place with --store FILE")
            }
            StoreError::Address { .. } => Some("--store postgres://USER@HOST:PORT/DATABASE"),
            StoreError::Away { .. } => Some("again when the server answers; until then, --store FILE"),
            StoreError::Differs { .. } => {
                Some("the reverse direction, which copies the newer run here: plimsoll pull")
            }
            StoreError::Going { .. } => {
                Some("wait until that ends, or end it; what it stores until then is kept")
            }
            StoreError::Gone { .. }
            | StoreError::NotMerged { .. }
            | StoreError::NoWeeks { .. }
            | StoreError::Foreign { .. }
            | StoreError::Sqlite { .. }
            | StoreError::Refused { .. }
            | StoreError::Spoiled { .. }
            | StoreError::Beside { .. }
            | StoreError::Record { .. } => None,
        };
        Self::CouldNot { what: error.to_string(), advice: advice.map(Into::into) }
    }
}

/// Whether a program's last words say that it was refused something.
fn lacked_rights(words: &str) -> bool {
    let words = words.to_lowercase();
    let refusals = [
        "permission denied",
        "not permitted",
        "eacces",
        "eperm",
        "read-only file system",
        "as root",
        "be root",
    ];
    refusals.iter().any(|refusal| words.contains(refusal))
}

/// Advice where permission is missing; root of a container gets another one.
fn as_root() -> String {
    match plimsoll_host::root_lacks() {
        Some(lacks) => format!("a container whose root has {lacks} (--cap-add), or outside of it"),
        None => "as root of the machine".into(),
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        use plimsoll_model::frame::Failure as AgentFailure;
        let what = error.to_string();
        let advice = match error {
            RunError::Store(error) => return error.into(),
            RunError::Host(error) => error.advice().map(Into::into),
            RunError::Service { service, why, .. } => match why {
                AgentFailure::AddressInUse { .. } => {
                    Some(format!("another port: --set services.{service}.port=PORT, or none for a free one"))
                }
                AgentFailure::NotRunning { .. } => {
                    Some(format!("start the server before the run, or --set services.{service}.port=PORT"))
                }
                AgentFailure::NotReady { .. } => Some(format!("more time: --set services.{service}.ready.within=60s")),
                AgentFailure::OutOfReach { between, .. } => Some(format!(
                    "let it listen on every address (0.0.0.0), or on {}; in `exec`, `{{address}}` stands for where to listen",
                    between.at.ip()
                )),
                AgentFailure::NoProgram { package: Some(package), .. } => Some(format!("apt-get install {package}")),
                AgentFailure::WrongPort { listens, .. } => listens.first().map(|listens| {
                    let other = listens.port();
                    format!("--set services.{service}.port={other}; in `exec`, `{{port}}` stands for the port to listen on")
                }),
                AgentFailure::Exited { confined: true, stderr, .. } if lacked_rights(&stderr) => Some(format!(
                    "--set services.{service}.privileged=true, if it needs to be more than nobody, or to write to more than its \
                     `{{scratch}}` and /tmp"
                )),
                AgentFailure::Permission { .. } => Some(as_root()),
                _ => None,
            },
            RunError::Unreached { from, .. } => {
                Some(format!("check the path from `{from}`: links, routes, rules of a firewall"))
            }
            RunError::Clock { host, .. } => {
                Some(format!("a shorter path to `{host}`, such as from a machine beside it; or one generator"))
            }
            RunError::Agent { why: AgentFailure::Permission { .. }, .. }
            | RunError::Hook { why: AgentFailure::Permission { .. }, .. }
            | RunError::Load { why: AgentFailure::Permission { .. }, .. } => Some(as_root()),
            RunError::Queue(error) => Some(error.advice().into()),
            RunError::Task { advice, .. } => advice,
            RunError::NoResult { folder, .. } => Some(format!(
                "a folder that the machines of the queue see as well (`folder=DIR` in --on), or more time (time_limit); the messages of the tasks are in {}",
                folder.join(MESSAGES).display()
            )),
            RunError::NotStarted { .. } => Some(
                "more time (`start_within=1h` in --on), or less to ask for; `squeue --start` shows when, of Kubernetes `kubectl describe pods`"
                    .into(),
            ),
            RunError::Agent { .. }
            | RunError::Hook { .. }
            | RunError::Load { .. }
            | RunError::Certificate(_)
            | RunError::Results(_)
            | RunError::Lost { .. }
            | RunError::Cpus(_) => None,
        };
        Self::CouldNot { what, advice }
    }
}

impl From<plimsoll_host::HostError> for Failure {
    fn from(error: plimsoll_host::HostError) -> Self {
        RunError::Host(error.into()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rights_are_proposed_only_where_some_were_missing() {
        let advice = |stderr: &str| {
            let why = plimsoll_model::frame::Failure::Exited {
                how: "exit status: 1".into(),
                stderr: stderr.into(),
                confined: true,
            };
            let error = RunError::Service { service: "web".into(), host: "server".into(), why };
            match Failure::from(error) {
                Failure::CouldNot { advice, .. } => advice.unwrap_or_default(),
                other => panic!("{other:?}"),
            }
        };
        assert!(advice("open /var/lib/x: Permission denied").contains("privileged=true"));
        for wrong in ["unknown option --prot", "bind: invalid port `{prot}`", ""] {
            assert_eq!(advice(wrong), "", "{wrong}");
        }
    }

    #[test]
    fn a_snippet_shows_what_a_terminal_would_obey_and_points_at_the_same_place() {
        let text = "a = 1\r\n\u{1b}[2Jb\r = \u{202e}\"x\"\r\n";
        let at = text.find("\"x\"").unwrap();
        let (shown, place) = shown(text, Some(at..at + 3));
        assert_eq!(shown, "a = 1\n\\x1b[2Jb\\r = \\u{202e}\"x\"\n");
        assert_eq!(&shown[place.unwrap()], "\"x\"");
        let error = FileError {
            message: "no \u{1b}[31mred".into(),
            expected: Some("\r".into()),
            nearest: None,
            span: Some(at..at + 3),
            text: text.into(),
            next: None,
        };
        let rendered = render("na\u{9b}me.toml", &error);
        assert!(!rendered.contains(['\u{1b}', '\r', '\u{202e}', '\u{9b}']), "{rendered:?}");
    }
}
