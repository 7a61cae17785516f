//! The whole screen of a terminal, while a run is under way. It is drawn by a thread of its own, which also reads the keys.

mod draw;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::view::View;
use super::{Ends, lock};
use crate::output::full_screen::{self, FullScreen};

/// How often it is drawn, and how long a key waits at most.
const TICK: Duration = Duration::from_millis(250);

/// What was chosen with keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    help: bool,
    ending: bool,
    after_trial: bool,
}

/// The screen.
pub(super) struct Screen {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Takes the terminal, where there is one of enough size that can be drawn on and that has a keyboard.
    pub(super) fn open(view: &Arc<Mutex<View>>, ends: &Ends) -> Option<Self> {
        if !full_screen::is_fit() {
            return None;
        }
        let mut screen = FullScreen::take_stderr().ok()?;
        let over = Arc::new(AtomicBool::new(false));
        let (view, ends, is_over) = (Arc::clone(view), ends.clone(), Arc::clone(&over));
        let draw = move || {
            let mut help = false;
            while !is_over.load(Ordering::Acquire) {
                let choice = Choice {
                    help,
                    ending: ends.now.load(Ordering::Acquire),
                    after_trial: ends.after_trial.load(Ordering::Acquire),
                };
                screen.draw(|frame, colour| draw::draw(frame, &lock(&view), choice, colour));
                if event::poll(TICK).unwrap_or_else(|_| {
                    thread::sleep(TICK);
                    false
                }) && let Ok(Event::Key(key)) = event::read()
                {
                    pressed(key, &mut help, &ends);
                }
            }
        };
        let thread = thread::Builder::new().name("screen".into()).spawn(draw).ok()?;
        Some(Self { over, thread: Some(thread) })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Does what a key asks for.
fn pressed(key: KeyEvent, help: &mut bool, ends: &Ends) {
    if key.kind == KeyEventKind::Release {
        return;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            // The terminal makes no signal of it while keys are read.
            signal_hook::low_level::raise(signal_hook::consts::SIGINT).ok();
        }
        KeyCode::Char('q') => ends.now.store(true, Ordering::Release),
        KeyCode::Char('e') => {
            ends.after_trial.fetch_xor(true, Ordering::AcqRel);
        }
        KeyCode::Char('?' | 'h') => *help = !*help,
        KeyCode::Esc => *help = false,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_end_the_run_now_or_after_its_trial_and_show_help() {
        let (mut help, ends) = (false, Ends::default());
        let mut press =
            |code| pressed(KeyEvent::new(KeyCode::Char(code), KeyModifiers::NONE), &mut help, &ends);
        press('e');
        assert!(ends.after_trial.load(Ordering::Acquire) && !ends.now.load(Ordering::Acquire));
        press('e');
        assert!(!ends.after_trial.load(Ordering::Acquire), "taken back");
        press('x');
        press('q');
        assert!(ends.now.load(Ordering::Acquire));
        press('?');
        assert!(help);
    }
}
