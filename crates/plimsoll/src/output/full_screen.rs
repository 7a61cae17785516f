//! The whole screen of a terminal. It is given back on drop, on panic, and by a process that ends and asks for it.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::unistd::{getpgrp, tcgetpgrp};
use plimsoll_report::escape;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::{cursor, execute, terminal};
use ratatui::{Frame, Terminal};

use crate::messages;

/// A smaller terminal gets lines.
const LEAST: (u16, u16) = (60, 16);

/// Whether the terminal is ours, and to be given back.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// At most `width` columns of a text from outside.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let text = escape::terminal(text);
    if text.chars().count() <= width {
        return text.into_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A terminal that is drawn on.
pub(crate) struct FullScreen {
    terminal: Terminal<CrosstermBackend<Box<dyn Write + Send>>>,
    colour: bool,
}

impl FullScreen {
    /// Takes the terminal that messages go to.
    pub(crate) fn take_stderr() -> io::Result<Self> {
        Self::take(Box::new(io::stderr()), messages::has_colour(&io::stderr()))
    }

    /// Takes the terminal that results go to.
    pub(crate) fn take_stdout() -> io::Result<Self> {
        Self::take(Box::new(io::stdout()), messages::has_colour(&io::stdout()))
    }

    fn take(out: Box<dyn Write + Send>, colour: bool) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let previous = panic::take_hook();
            panic::set_hook(Box::new(move |panicked| {
                restore();
                previous(panicked);
            }));
        });
        TAKEN.store(true, Ordering::Release);
        let mut out = out;
        let taken = terminal::enable_raw_mode()
            .and_then(|()| execute!(out, terminal::EnterAlternateScreen, cursor::Hide))
            .and_then(|()| Terminal::new(CrosstermBackend::new(out)));
        if taken.is_err() {
            restore();
        }
        Ok(Self { terminal: taken?, colour })
    }

    /// Draws; what cannot be drawn is not shown. The second argument says whether there are colours.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>, bool)) {
        let colour = self.colour;
        self.terminal.draw(|frame| draw(frame, colour)).ok();
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether stderr is a terminal that is large enough, understands where text is to go, and is ours to read keys from.
pub(crate) fn is_fit() -> bool {
    let stderr = io::stderr();
    let understands = std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
    let in_front = || tcgetpgrp(&stderr).is_ok_and(|group| group == getpgrp());
    let large = || {
        terminal_size::terminal_size_of(stderr.as_fd())
            .is_some_and(|(width, height)| width.0 >= LEAST.0 && height.0 >= LEAST.1)
    };
    stderr.is_terminal() && io::stdin().is_terminal() && understands && in_front() && large()
}

/// Gives the terminal back, where it was taken.
pub(crate) fn restore() {
    if TAKEN.swap(false, Ordering::AcqRel) {
        // Whichever of the two is the terminal; the other shows nothing of it.
        let mut stream: Box<dyn Write> =
            if io::stderr().is_terminal() { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
        execute!(stream, terminal::LeaveAlternateScreen, cursor::Show).ok();
        terminal::disable_raw_mode().ok();
    }
}
