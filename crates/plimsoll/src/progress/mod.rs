//! Progress of a run: the whole screen of a terminal, a line where it is small, a line now and then in a log.

pub(crate) mod forecast;
pub(crate) mod lines;
mod live;
mod report;
mod shared;
mod spark;
mod ticker;
mod view;

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plimsoll_model::plan::Plan;
use plimsoll_run::{Event, Observer};
use plimsoll_store::{RunEntry, Times, UnderWayFile};

use crate::messages;
use crate::output::LiveLine;

use live::Screen;
pub(crate) use report::ReportSoFar;
pub(crate) use spark::spark;
use ticker::Ticker;
use view::View;

/// What ends a run, or a phase of it, before its time.
#[derive(Clone, Default)]
pub(crate) struct Ends {
    /// Set when it is to end at once.
    pub(crate) now: Arc<AtomicBool>,
    /// Set when it is to end after the trial that is under way.
    pub(crate) after_trial: Arc<AtomicBool>,
    /// Set when the phase that is under way is to end at once.
    pub(crate) phase: Arc<AtomicBool>,
}

/// Options of progress output.
pub(crate) struct ProgressOptions {
    /// Whether the whole screen may be used.
    pub(crate) live: bool,
    /// How often a line is written where there is no terminal.
    pub(crate) heartbeat: Option<Duration>,
}

enum Outlet {
    Screen(Screen),
    Line(LiveLine),
    Log(#[expect(dead_code, reason = "it writes for as long as it is there")] Ticker),
    Nobody,
}

/// Shows how far a run is.
pub(crate) struct Progress {
    view: Arc<Mutex<View>>,
    outlet: Outlet,
    report: Arc<ReportSoFar>,
    _shared: Ticker,
}

impl Progress {
    pub(crate) fn begin(
        plan: &Plan,
        entry: &RunEntry,
        earlier: Option<Times>,
        options: &ProgressOptions,
        ends: &Ends,
        report: ReportSoFar,
        file: UnderWayFile,
    ) -> Self {
        let view = Arc::new(Mutex::new(View::new(plan, entry, earlier)));
        let report = Arc::new(report);
        let shared = shared::write_each_second(&view, file);
        let outlet = if messages::is_quiet() {
            Outlet::Nobody
        } else if let Some(screen) = options.live.then(|| Screen::open(&view, ends, &report)).flatten() {
            Outlet::Screen(screen)
        } else if io::stderr().is_terminal() {
            let line = LiveLine::new(Some(Duration::from_millis(200)));
            line.say(&format!("run {} of {}: {}", entry.id, entry.experiment, plan.experiment.question));
            Outlet::Line(line)
        } else {
            options.heartbeat.map_or(Outlet::Nobody, |every| {
                let view = Arc::clone(&view);
                let beat = move || messages::note(lock(&view).in_a_line());
                Outlet::Log(Ticker::start("heartbeat", every, beat))
            })
        };
        Self { view, outlet, report, _shared: shared }
    }

    /// Clears the screen. Errors that went with it are printed again.
    pub(crate) fn clear(&mut self) {
        match std::mem::replace(&mut self.outlet, Outlet::Nobody) {
            Outlet::Screen(screen) => {
                drop(screen);
                for line in lock(&self.view).to_keep() {
                    messages::note(line);
                }
            }
            Outlet::Line(mut line) => line.clear(),
            Outlet::Log(_) | Outlet::Nobody => {}
        }
    }
}

impl Observer for Progress {
    fn on(&mut self, event: &Event<'_>) {
        let mut view = lock(&self.view);
        let said = view.take(event);
        if let Outlet::Line(line) = &self.outlet {
            if let Some(said) = said {
                line.say(&said);
            }
            line.show(&view.in_a_line());
        }
        // Between two trials nothing is measured that it could disturb.
        if matches!(event, Event::TrialEnded { .. }) && self.report.wanted.swap(false, Ordering::AcqRel) {
            drop(view);
            let message = self.report.open();
            lock(&self.view).say(message, true);
        }
    }
}

/// The state that a panicked thread left is still worth showing.
fn lock(view: &Mutex<View>) -> std::sync::MutexGuard<'_, View> {
    view.lock().unwrap_or_else(PoisonError::into_inner)
}
