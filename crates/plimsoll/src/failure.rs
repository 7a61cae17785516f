//! Errors at the edge: what happened, and what the user can do about it.

use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report};
use plimsoll_model::experiment::FileError;
use plimsoll_run::RunError;
use plimsoll_store::StoreError;

/// Why the program could not do what it was asked to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked for something that makes no sense.
    Usage(String),
    /// An experiment file cannot be used.
    File {
        /// The file, or the name of a shipped experiment.
        name: String,
        /// What is wrong with it.
        error: Box<FileError>,
    },
    /// It could not be carried out.
    CouldNot {
        /// What happened.
        what: String,
        /// What the user can do.
        advice: Option<String>,
    },
}

impl Failure {
    /// Something that could not be carried out, without advice.
    pub(crate) fn could_not(what: impl Into<String>) -> Self {
        Self::CouldNot { what: what.into(), advice: None }
    }

    /// A file that could not be read or written.
    pub(crate) fn io(operation: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::could_not(format!("cannot {operation} {}: {error}", path.display()))
    }

    /// Writes it to stderr.
    pub(crate) fn print(&self) {
        match self {
            Self::Usage(what) => eprintln!("plimsoll: {what}"),
            Self::File { name, error } => eprintln!("{}", render(name, error)),
            Self::CouldNot { what, advice } => {
                eprintln!("plimsoll: {what}");
                if let Some(advice) = advice {
                    eprintln!("  try: {advice}");
                }
            }
        }
    }
}

/// The line, a caret under the place, what was expected, and the nearest valid name.
fn render(name: &str, error: &FileError) -> String {
    let mut help = Vec::new();
    help.extend(error.expected.as_ref().map(|expected| format!("expected {expected}")));
    help.extend(error.nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?")));
    let mut diagnostic = MietteDiagnostic::new(error.message.clone());
    if !help.is_empty() {
        diagnostic = diagnostic.with_help(help.join("\n"));
    }
    if let Some(span) = &error.span {
        diagnostic = diagnostic.with_label(LabeledSpan::underline(span.clone()));
    }
    let report = Report::new(diagnostic).with_source_code(NamedSource::new(name, error.text.clone()));
    let theme = if crate::output::stderr_has_colour() {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let mut text = String::new();
    // Writing to a string cannot fail.
    GraphicalReportHandler::new_themed(theme).with_width(120).render_report(&mut text, report.as_ref()).ok();
    text
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let advice = match &error {
            StoreError::Full { .. }
            | StoreError::Folder { .. }
            | StoreError::Open { .. }
            | StoreError::Claim { .. } => Some("another place with --store FILE"),
            StoreError::Newer { .. } => Some("a newer plimsoll, or another file with --store FILE"),
            StoreError::Going { .. } => {
                Some("wait until that ends, or end it; what it stores until then is kept")
            }
            StoreError::NotMerged { .. } | StoreError::Sqlite { .. } | StoreError::Record { .. } => None,
        };
        Self::CouldNot { what: error.to_string(), advice: advice.map(Into::into) }
    }
}

/// What helps where permission is missing; to root of a container, another one.
fn as_root() -> String {
    match plimsoll_host::root_lacks() {
        Some(lacks) => format!("a container whose root has {lacks} (--cap-add), or outside of it"),
        None => "as root of the machine".into(),
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        use plimsoll_model::frame::Failure as Why;
        let what = error.to_string();
        let advice = match error {
            RunError::Store(error) => return error.into(),
            RunError::Host(error) => error.advice().map(Into::into),
            RunError::Service { service, why, .. } => match why {
                Why::AddressInUse { .. } => {
                    Some(format!("another port: --set services.{service}.port=PORT, or none for a free one"))
                }
                Why::NotReady { .. } => Some(format!("more time: --set services.{service}.ready.within=60s")),
                Why::OutOfReach { at, .. } => Some(format!(
                    "let it listen on every address (0.0.0.0), or on {}; in `exec`, `{{address}}` stands for where to listen",
                    at.ip()
                )),
                Why::NoProgram { package: Some(package), .. } => Some(format!("apt-get install {package}")),
                Why::Exited { confined: true, .. } => Some(format!(
                    "--set services.{service}.privileged=true, if it needs to be more than nobody, or to write to more than its \
                     `{{scratch}}` and /tmp"
                )),
                Why::Permission { .. } => Some(as_root()),
                _ => None,
            },
            RunError::Unreached { from, .. } => {
                Some(format!("look what is on the way from `{from}`: links, routes, rules of a firewall"))
            }
            RunError::Agent { why: Why::Permission { .. }, .. }
            | RunError::Load { why: Why::Permission { .. }, .. } => Some(as_root()),
            RunError::Agent { .. } | RunError::Load { .. } | RunError::Lost { .. } | RunError::Cpus(_) => {
                None
            }
        };
        Self::CouldNot { what, advice }
    }
}

impl From<plimsoll_host::HostError> for Failure {
    fn from(error: plimsoll_host::HostError) -> Self {
        RunError::Host(error).into()
    }
}
