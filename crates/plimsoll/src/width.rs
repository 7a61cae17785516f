//! How wide text may be.

use std::ffi::OsStr;
use std::os::fd::AsFd;

/// The width of text that goes to no terminal.
const NO_TERMINAL: u16 = 100;
/// Narrower text does not read.
const LEAST: u16 = 40;
/// Sentences in longer lines do not read either, and all tables fit by then.
const MOST: u16 = 200;

/// The columns for text on a stream: what `COLUMNS` says, else the terminal's width, else [`NO_TERMINAL`].
pub(super) fn of(stream: &impl AsFd) -> usize {
    let terminal = || terminal_size::terminal_size_of(stream.as_fd()).map(|(width, _)| width.0);
    chosen(std::env::var_os("COLUMNS").as_deref(), terminal)
}

fn chosen(said: Option<&OsStr>, terminal: impl FnOnce() -> Option<u16>) -> usize {
    let said = said.and_then(OsStr::to_str).and_then(|columns| columns.trim().parse().ok());
    let known = |columns: &u16| *columns > 0;
    let columns = said.filter(known).or_else(|| terminal().filter(known)).unwrap_or(NO_TERMINAL);
    usize::from(columns.clamp(LEAST, MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_as_wide_as_the_user_says_or_else_the_terminal_is() {
        let width = |said: Option<&str>, terminal| chosen(said.map(OsStr::new), || terminal);
        assert_eq!(width(Some("120"), Some(80)), 120);
        assert_eq!(width(None, Some(80)), 80);
        assert_eq!(width(None, None), 100);
        assert_eq!(width(Some("wide"), Some(0)), 100, "neither says anything");
        assert_eq!(width(Some("0"), Some(90)), 90);
        assert_eq!((width(Some("20"), None), width(Some("1000"), None)), (40, 200), "what reads");
    }
}
