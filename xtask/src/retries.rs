//! Tests that may run once more after a failure: a neighbour on a shared machine can take both CPUs for as long as a measurement lasts.

use std::fs;

/// One line per retry: binary, beginning of the test's name, reason.
const FILE: &str = "xtask/retries.tsv";
/// Retries per run. More failures are no accident.
const MOST: usize = 3;

/// Retries that a run has left.
pub(crate) struct Retries {
    allowed: Vec<Allowed>,
    remaining: usize,
}

struct Allowed {
    binary: String,
    test: String,
    reason: String,
}

impl Retries {
    /// Reads the tests that may be tried again.
    pub(crate) fn read() -> Result<Self, String> {
        let text = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let rows = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        let allowed = rows.map(|(index, line)| {
            let mut fields = line.split('\t').map(str::to_owned);
            match (fields.next(), fields.next(), fields.next(), fields.next()) {
                (Some(binary), Some(test), Some(reason), None) if !reason.is_empty() => {
                    Ok(Allowed { binary, test, reason })
                }
                _ => Err(format!("{FILE}:{}: expected BINARY<tab>TEST<tab>REASON, got {line:?}", index + 1)),
            }
        });
        Ok(Self { allowed: allowed.collect::<Result<_, String>>()?, remaining: MOST })
    }

    /// Takes a retry for a failed test, and returns the reason of its line; `None` without a line or a remaining retry.
    pub(crate) fn take(&mut self, binary: &str, test: &str) -> Option<&str> {
        let allowed = self
            .allowed
            .iter()
            .find(|allowed| allowed.binary == binary && test.starts_with(&allowed.test))?;
        self.remaining = self.remaining.checked_sub(1)?;
        Some(&allowed.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_tests_run_again_and_at_most_three() {
        let mut retries =
            Retries::parse("# a comment\ncli\tmail\tmeasures a disk\nrig\t\thas deadlines\n").unwrap();
        assert_eq!(retries.take("cli", "judging::a_column"), None);
        assert_eq!(retries.take("cli", "mail::a_relay"), Some("measures a disk"));
        assert_eq!(retries.take("rig", "any"), Some("has deadlines"));
        assert_eq!(retries.take("rig", "other"), Some("has deadlines"));
        assert_eq!(retries.take("rig", "a fourth"), None);
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        for text in ["cli\tmail\n", "cli\tmail\t\n", "cli\n"] {
            assert!(Retries::parse(text).is_err(), "{text}");
        }
    }
}
