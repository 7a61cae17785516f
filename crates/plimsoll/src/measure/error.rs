//! Why a command gave no figure.

use std::io;
use std::process::ExitStatus;

use crate::failure::Failure;

/// The most lines of a command's output that an error quotes.
const SHOWN_LINES: usize = 5;

/// The exit status by which a command says that what it is run on cannot be tested (git-bisect(1)).
const CANNOT_BE_TESTED: i32 = 125;

/// The exit status by which a shell says that there is no such command.
const NOT_FOUND: i32 = 127;

/// Why a command gave no figure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MeasureError {
    /// The command did not start.
    #[error("cannot run `{command}`: {source}")]
    Start {
        /// The command.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// The command ended with a status other than 0.
    #[error("`{command}` failed: {status}{wrote}")]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it wrote to stderr, set in.
        wrote: String,
        /// Whether `--ignore-failure` would accept it.
        may_fail: bool,
    },
    /// Nothing that it printed matches.
    #[error("`{command}` printed nothing that matches `{pattern}`{wrote}")]
    NoFigure {
        /// The command.
        command: String,
        /// The regular expression.
        pattern: String,
        /// The last lines that it printed, set in.
        wrote: String,
    },
    /// The matching text is no number above 0.
    #[error(
        "`{command}` printed `{text}` as its figure: expected a number above 0, because ratios are judged"
    )]
    BadFigure {
        /// The command.
        command: String,
        /// The matching text.
        text: String,
    },
    /// The kernel counted nothing.
    #[error("the {what} of `{command}` is 0: too little for the kernel to count, and ratios are judged")]
    Nothing {
        /// The command.
        command: String,
        /// Which resource.
        what: &'static str,
    },
    /// A program that counts left no count.
    #[error("{counter} counted nothing of `{command}`")]
    Uncounted {
        /// The command.
        command: String,
        /// The program that counts.
        counter: &'static str,
    },
    /// The command is no file of its own.
    #[error("`{command}` has no size: its program is no file in the folder where it runs")]
    NoFile {
        /// The command.
        command: String,
    },
    /// The peak is hidden below that of Plimsoll itself.
    #[error(
        "the peak memory of `{command}` cannot be seen: the kernel counts every child from the {} MB on that its parent had",
        floor / 1_000_000 + 1
    )]
    Hidden {
        /// The command.
        command: String,
        /// Plimsoll's own peak, in bytes.
        floor: u64,
    },
    /// An experiment could not be carried out.
    #[error("`{command}` could not be carried out:\n{}", plimsoll_report::escape::terminal(wrote))]
    NotCarriedOut {
        /// The command.
        command: String,
        /// The whole text on stderr.
        wrote: String,
    },
    /// A version of several gave no figure.
    #[error("{version}: {error}")]
    Version {
        /// Which version.
        version: String,
        /// Why.
        error: Box<MeasureError>,
        /// Advice if its program is not there.
        if_absent: Option<&'static str>,
    },
    /// The user has seen enough.
    #[error("interrupted")]
    Interrupted,
    /// A failure around the command.
    #[error("cannot {operation}: {source}")]
    Io {
        /// The operation that failed.
        operation: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A version could not be made ready.
    #[error("{0}")]
    Checkout(String),
}

impl MeasureError {
    /// For `map_err`.
    pub(super) fn io(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { operation, source }
    }

    /// Names the version that gave no figure, and what helps if its program is not there.
    pub(crate) fn of_version(self, version: &str, if_absent: Option<&'static str>) -> Self {
        match self {
            Self::Interrupted => Self::Interrupted,
            error => Self::Version { version: version.to_owned(), error: Box::new(error), if_absent },
        }
    }

    /// Whether the command could not be started, as it is not there.
    fn is_absent(&self) -> bool {
        match self {
            Self::Start { source, .. } => source.kind() == io::ErrorKind::NotFound,
            Self::Failed { status, .. } => status.code() == Some(NOT_FOUND),
            _ => false,
        }
    }

    /// Whether the command said, as for `git bisect run`, that what it is run on cannot be tested.
    pub(crate) fn asks_to_skip(&self) -> bool {
        match self {
            Self::Failed { status, .. } => status.code() == Some(CANNOT_BE_TESTED),
            Self::NotCarriedOut { .. } => true,
            _ => false,
        }
    }

    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Version { error, if_absent: Some(advice), .. } if error.is_absent() => Some(*advice),
            Self::Version { error, .. } => error.advice(),
            Self::Failed { may_fail: true, .. } if !self.is_absent() => {
                Some("--ignore-failure, if that is how it should end")
            }
            Self::NoFigure { .. } => Some(
                "a regular expression whose first group is the number, such as --figure 'took ([0-9.]+) ms'",
            ),
            Self::Nothing { .. } | Self::Hidden { .. } => {
                Some("more work in each command, or another --metric")
            }
            _ => None,
        }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        Self::CouldNot { what: error.to_string(), advice: error.advice().map(Into::into) }
    }
}

/// The last lines of a command's output, each on a line of its own and indented; empty if it wrote nothing.
pub(super) fn last_lines(wrote: &[u8]) -> String {
    let text = String::from_utf8_lossy(wrote);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    shown.iter().map(|line| format!("\n    {}", plimsoll_report::escape::terminal(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_shown_and_none_of_their_escapes() {
        assert_eq!(last_lines(b""), "");
        let many: String = (1..=9).map(|n| format!("line {n}\n")).collect();
        let shown = last_lines(many.as_bytes());
        assert!(shown.starts_with("\n    line 5") && shown.ends_with("line 9"), "{shown}");
        assert!(!last_lines(b"\x1b[2J").contains('\x1b'));
    }
}
