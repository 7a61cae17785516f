//! A run that is kept on a server. It is carried out in this machine's own file of runs, and handed on from there whenever a trial has ended: so a server that is away
//! neither holds the run up nor loses any of it. At the end the server has all of it, and the file nothing more.

mod courier;
mod left;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_model::report::RunStatus;
use plimsoll_run::{Event, Observer};
use plimsoll_store::{RunLock, Store, StoreError};

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::{messages, state};

use courier::{Courier, Load};
pub(crate) use left::left;

/// How long a run waits for its server at the end where it is not said.
const WAITS: Duration = Duration::from_secs(60);
/// How often it looks whether the server is back.
const LOOKS: Duration = Duration::from_millis(500);

/// Where a run is kept.
pub(crate) struct Keeping {
    /// Where it is carried out: the file of runs.
    own: Store,
    /// Where it goes from there.
    team: Option<Team>,
}

struct Team {
    store: Store,
    courier: Courier,
    wait: Duration,
}

impl Keeping {
    /// Opens the store for a run.
    pub(crate) fn open(args: &RunArgs) -> Result<Self, Failure> {
        let named = state::open(args.store.store.as_deref())?;
        let (Some(shared), Some(watched)) = (named.in_same_session(), named.in_same_session()) else {
            return Ok(Self { own: named, team: None });
        };
        let file = state::own_file()?;
        let courier = Courier::between(Store::open(&file)?, shared, watched).map_err(|error| {
            Failure::could_not(format!("cannot start a thread for {}: {error}", named.place()))
        })?;
        let wait = args.store_wait.map_or(WAITS, |wait| wait.0);
        Ok(Self { own: Store::open(&file)?, team: Some(Team { store: named, courier, wait }) })
    }

    /// Where the run is carried out.
    pub(crate) fn own(&self) -> &Store {
        &self.own
    }

    /// The store that the user has named: where the run is in the end, and others are.
    pub(crate) fn named(&self) -> &Store {
        self.team.as_ref().map_or(&self.own, |team| &team.store)
    }

    /// Claims a run wherever it is.
    pub(crate) fn claim(&self, run: &str) -> Result<Vec<RunLock>, StoreError> {
        self.team.iter().map(|team| &team.store).chain([&self.own]).map(|store| store.claim(run)).collect()
    }

    /// Fetches a run to resume, and returns the store that has it then. Parts that the server lacks are sent first. A
    /// complete run stays where it is.
    pub(crate) fn take_over(&self, run: &str) -> Result<&Store, StoreError> {
        let Some(team) = &self.team else { return Ok(&self.own) };
        if team.store.run(run)?.is_some_and(|entry| entry.status == RunStatus::Complete) {
            return Ok(&team.store);
        }
        if self.own.run(run)?.is_some_and(|entry| entry.id == run) {
            match self.own.copy_run(run, &team.store) {
                // The server has more of it, if another machine has gone on with it.
                Err(StoreError::Differs { .. }) => {}
                other => return other.map(|_| &self.own),
            }
        }
        team.store.copy_run(run, &self.own).map(|_| &self.own)
    }

    /// Passes events on, and copies trials to the server as they end.
    pub(crate) fn behind<'k>(
        &'k self,
        run: &'k str,
        interrupt: &'k AtomicBool,
        observer: &'k mut dyn Observer,
    ) -> Uploader<'k> {
        Uploader { keeping: self, run, interrupt, observer, has_begun: false, is_behind: false }
    }

    /// Sees to it that the server has all of a run. Where it is away, it is waited for.
    pub(crate) fn deliver(&self, run: &str, interrupt: &Arc<AtomicBool>) -> Result<(), Failure> {
        let Some(team) = &self.team else { return Ok(()) };
        if self.own.run(run)?.is_none() {
            // The failure to store it has been reported.
            return Ok(());
        }
        let was_interrupted = interrupt.load(Ordering::Acquire);
        let ends = || !was_interrupted && interrupt.load(Ordering::Acquire);
        let mut away_since = None;
        let mut is_reported = false;
        loop {
            match team.courier.carry(run, Load::Whole, [team.wait; 2], &ends) {
                Ok(()) => break,
                Err(error)
                    if error.is_away()
                        && away_since.get_or_insert_with(Instant::now).elapsed() < team.wait
                        && !ends() =>
                {
                    if !std::mem::replace(&mut is_reported, true) {
                        let wait = team.wait.as_secs_f64();
                        messages::say(format_args!("waiting for up to {wait:.0} s: {error}"));
                    }
                    thread::sleep(LOOKS);
                }
                Err(error) => return Err(self.stays(run, team, &error)),
            }
        }
        if is_reported {
            messages::say(format_args!("{} is back, and has all of run {run}", team.store.place()));
        }
        self.own.remove_files(run)?;
        Ok(self.own.remove_run(run)?)
    }

    fn stays(&self, run: &str, team: &Team, error: &StoreError) -> Failure {
        let (own, team) = (self.own.place().to_string(), team.store.place().to_string());
        Failure::CouldNot {
            what: format!("{error}; the run {run} is whole in {own}"),
            advice: Some(left::push(run, &own, &team)),
        }
    }
}

/// Observer that copies the run to the team's server whenever a trial ends.
pub(crate) struct Uploader<'k> {
    keeping: &'k Keeping,
    run: &'k str,
    interrupt: &'k AtomicBool,
    observer: &'k mut dyn Observer,
    has_begun: bool,
    is_behind: bool,
}

impl Uploader<'_> {
    /// Between two trials nothing is measured that it could disturb.
    fn hand_on(&mut self, trial: Option<u32>) {
        let Keeping { own, team: Some(Team { store: team, courier, wait }) } = self.keeping else { return };
        let load = match (trial, self.is_behind) {
            (_, true) => Load::Whole,
            (Some(number), false) => Load::Trial(number),
            (None, false) => Load::Begun,
        };
        // A server that has not answered was waited for before.
        let waits = [Duration::ZERO, *wait];
        let handed = courier.carry(self.run, load, waits, &|| self.interrupt.load(Ordering::Acquire));
        let was_behind = std::mem::replace(&mut self.is_behind, handed.is_err());
        match handed {
            Ok(()) if was_behind => tracing::warn!("{} is back, and has the trials so far", team.place()),
            Err(error) if !was_behind => {
                tracing::warn!("the run goes on, and is kept in {} meanwhile: {error}", own.place());
            }
            _ => {}
        }
    }
}

impl Observer for Uploader<'_> {
    fn on(&mut self, event: &Event<'_>) {
        self.observer.on(event);
        match event {
            Event::TrialStarted { .. } if !std::mem::replace(&mut self.has_begun, true) => self.hand_on(None),
            Event::TrialEnded { trial } => self.hand_on(Some(trial.number)),
            _ => {}
        }
    }
}
