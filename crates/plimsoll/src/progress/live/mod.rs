//! The whole screen of a terminal, while a run is under way. It is drawn by a thread of its own, which also reads the keys.

mod draw;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::view::View;
use super::{Ends, ReportSoFar, lock};
use crate::output::full_screen::{self, FullScreen};

/// How often it is drawn, and how long a key waits at most.
const TICK: Duration = Duration::from_millis(250);

/// The choices made with keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    help: bool,
    ending: bool,
    after_trial: bool,
    skip: Skip,
    /// The report is opened after the trial.
    report: bool,
}

/// Whether to skip the current phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Skip {
    #[default]
    No,
    /// The skip was requested once.
    Asked,
    /// The skip was confirmed, and takes effect.
    Sure,
}

/// State that keys act on.
struct Keys {
    help: bool,
    /// Start of the phase for which a skip was requested once.
    skip: Option<Instant>,
    ends: Ends,
    view: Arc<Mutex<View>>,
    report: Arc<ReportSoFar>,
}

/// The screen.
pub(super) struct Screen {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Takes the terminal, where there is one of enough size that can be drawn on and that has a keyboard.
    pub(super) fn open(view: &Arc<Mutex<View>>, ends: &Ends, report: &Arc<ReportSoFar>) -> Option<Self> {
        if !full_screen::is_fit() {
            return None;
        }
        let mut screen = FullScreen::take_stderr().ok()?;
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let mut keys = Keys {
            help: false,
            skip: None,
            ends: ends.clone(),
            view: Arc::clone(view),
            report: Arc::clone(report),
        };
        let draw = move || {
            while !is_over.load(Ordering::Acquire) {
                let choice = keys.choice();
                screen.draw(|frame, colour| draw::draw(frame, &lock(&keys.view), choice, colour));
                if event::poll(TICK).unwrap_or_else(|_| {
                    thread::sleep(TICK);
                    false
                }) && let Ok(Event::Key(key)) = event::read()
                {
                    keys.pressed(key);
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

impl Keys {
    fn choice(&mut self) -> Choice {
        let phase = self.phase();
        let asked = self.skip.is_some() && self.skip == phase;
        Choice {
            help: self.help,
            ending: self.ends.now.load(Ordering::Acquire),
            after_trial: self.ends.after_trial.load(Ordering::Acquire),
            skip: match self.ends.phase.load(Ordering::Acquire) {
                true => Skip::Sure,
                false if asked => Skip::Asked,
                false => Skip::No,
            },
            report: self.report.wanted.load(Ordering::Acquire),
        }
    }

    /// When the phase began that is under way.
    fn phase(&self) -> Option<Instant> {
        lock(&self.view).phase.as_ref().map(|phase| phase.since)
    }

    /// Does what a key asks for.
    fn pressed(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        // Only the next key is the answer.
        let asked = self.skip.take();
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                // The terminal makes no signal of it while keys are read.
                signal_hook::low_level::raise(signal_hook::consts::SIGINT).ok();
            }
            KeyCode::Char('q') => self.ends.now.store(true, Ordering::Release),
            KeyCode::Char('e') => {
                self.ends.after_trial.fetch_xor(true, Ordering::AcqRel);
            }
            KeyCode::Char('s') => match self.phase() {
                // The one that was meant may be over by now.
                Some(phase) if asked == Some(phase) => self.ends.phase.store(true, Ordering::Release),
                phase => self.skip = phase,
            },
            KeyCode::Char('o') => self.report(),
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Esc => {
                self.help = false;
                self.report.wanted.store(false, Ordering::Release);
            }
            _ => {}
        }
    }

    /// After the trial; at once where it is asked for again, and there is something to be seen.
    fn report(&self) {
        if !self.report.wanted.fetch_xor(true, Ordering::AcqRel) || lock(&self.view).trials_done == 0 {
            return;
        }
        let (report, view) = (Arc::clone(&self.report), Arc::clone(&self.view));
        let open = move || {
            let message = report.open();
            lock(&view).say(message, true);
        };
        thread::Builder::new().name("report".into()).spawn(open).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use plimsoll_model::observation::PhaseKind;

    use super::*;
    use crate::progress::view::tests::{view, with};

    /// Keys with a view of a run that has a phase under way.
    fn keys() -> Keys {
        let report = ReportSoFar::new("run", Path::new("run.html"), Box::new(|| Ok(false)));
        Keys {
            help: false,
            skip: None,
            ends: Ends::default(),
            view: Arc::new(Mutex::new(view())),
            report: Arc::new(report),
        }
    }

    fn press(keys: &mut Keys, key: char) -> Choice {
        keys.pressed(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
        keys.choice()
    }

    #[test]
    fn keys_end_the_run_now_or_after_its_trial_and_show_help() {
        let mut keys = keys();
        let choice = press(&mut keys, 'e');
        assert!(choice.after_trial && !choice.ending);
        assert!(!press(&mut keys, 'e').after_trial, "taken back");
        press(&mut keys, 'x');
        assert!(press(&mut keys, 'q').ending);
        assert!(press(&mut keys, '?').help);
    }

    #[test]
    fn a_phase_is_skipped_when_it_is_asked_for_twice_and_is_still_the_same() {
        let mut keys = keys();
        assert_eq!(press(&mut keys, 's').skip, Skip::Asked);
        assert_eq!(press(&mut keys, 'x').skip, Skip::No, "another key is a no");
        press(&mut keys, 's');
        with(&keys.view, |view| {
            let event = plimsoll_run::Event::PhaseStarted {
                name: "later",
                kind: PhaseKind::Measure,
                cycle: 0,
                cycles: 0,
            };
            view.take(&event);
        });
        assert_eq!(keys.choice().skip, Skip::No, "the phase that was meant is over");
        assert_eq!(press(&mut keys, 's').skip, Skip::Asked);
        assert!(!keys.ends.phase.load(Ordering::Acquire));
        assert_eq!(press(&mut keys, 's').skip, Skip::Sure);
        with(&keys.view, |view| view.phase = None);
        keys.ends.phase.store(false, Ordering::Release);
        press(&mut keys, 's');
        assert_eq!(press(&mut keys, 's').skip, Skip::No, "nothing is under way");
    }

    #[test]
    fn the_report_is_opened_after_the_trial_and_before_there_is_one_never_at_once() {
        let mut keys = keys();
        let line_count = |keys: &Keys| lock(&keys.view).lines.len();
        let before = line_count(&keys);
        assert!(press(&mut keys, 'o').report);
        assert!(!press(&mut keys, 'o').report, "taken back");
        press(&mut keys, 'o');
        keys.pressed(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        assert!(!keys.choice().report);
        assert_eq!(line_count(&keys), before, "nothing was tried");
        lock(&keys.view).trials_done = 1;
        press(&mut keys, 'o');
        assert!(!press(&mut keys, 'o').report);
        let deadline = Instant::now() + Duration::from_secs(20);
        while line_count(&keys) == before {
            assert!(Instant::now() < deadline, "the outcome is shown");
            thread::sleep(Duration::from_millis(10));
        }
    }
}
