//! Recording of a trial while it runs: the record, the store, and its observers.

use std::collections::BTreeSet;
use std::mem::take;
use std::time::Instant;

use plimsoll_model::experiment::Rung;
use plimsoll_model::observation::{Fault, FaultKind, PhaseKind, PhaseRecord, Profile, Slice, TrialRecord};
use plimsoll_store::Store;

use crate::Profiler;
use crate::agent_pool::Key;
use crate::error::TrialStop;
use crate::event::{Event, Observer};
use crate::guests::put_together;
use crate::load_records::split;
use crate::standstill::Standstill;

/// Record of a trial under way.
pub(crate) struct Recorder<'t> {
    pub(crate) store: &'t Store,
    /// Id of the run.
    pub(crate) run: &'t str,
    pub(crate) observer: &'t mut dyn Observer,
    /// Absent where the probes are switched off, too.
    pub(crate) profiler: Option<&'t dyn Profiler>,
    /// The guests that sample themselves in the latest phase.
    pub(crate) sampled: BTreeSet<Key>,
    /// What they sampled, each with its name.
    pub(crate) of_guests: Vec<(String, Profile)>,
    pub(crate) record: TrialRecord,
    /// Number of the pass through repeated phases, from 1; 0 outside of them.
    pub(crate) cycle: u32,
    pub(crate) cycles: u32,
    start: Instant,
    /// Number of stored phases.
    stored: usize,
    standstill: Standstill,
}

impl<'t> Recorder<'t> {
    pub(crate) fn new(
        store: &'t Store,
        run: &'t str,
        profiler: Option<&'t dyn Profiler>,
        observer: &'t mut dyn Observer,
        record: TrialRecord,
    ) -> Self {
        let (start, standstill) = (Instant::now(), Standstill::watch());
        let (sampled, of_guests) = (BTreeSet::new(), Vec::new());
        Self {
            store,
            run,
            observer,
            profiler,
            sampled,
            of_guests,
            record,
            cycle: 0,
            cycles: 0,
            start,
            stored: 0,
            standstill,
        }
    }

    /// The services are ready: the trial's own time begins.
    pub(crate) fn rig_ready(&mut self, since: Instant) {
        let took = since.elapsed();
        self.record.setup_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.observer.on(&Event::RigReady { took });
        self.start = Instant::now();
    }

    /// Nanoseconds since the services were ready.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn begin(&mut self, name: &str, kind: PhaseKind, rung: Option<Rung>) {
        self.observer.on(&Event::PhaseStarted { name, kind, cycle: self.cycle, cycles: self.cycles });
        let start_ns = self.now_ns();
        self.record.phases.push(PhaseRecord {
            name: name.to_owned(),
            kind,
            cycle: self.cycle,
            rung,
            start_ns,
            end_ns: start_ns,
            slices: Vec::new(),
            events: Vec::new(),
            notes: Vec::new(),
            captures: Vec::new(),
            profiles: Vec::new(),
        });
    }

    /// Ends the latest phase, and stores it.
    pub(crate) fn end(&mut self) -> Result<(), TrialStop> {
        self.close();
        for place in self.stored..self.record.phases.len() {
            let phase = &self.record.phases[place];
            self.store.put_phase(self.run, &self.record, place, phase)?;
            self.observer.on(&Event::PhaseEnded { phase });
        }
        self.stored = self.record.phases.len();
        self.stood_still().map_or(Ok(()), |fault| Err(TrialStop::Fault(fault)))
    }

    /// Ends a phase that the end of the trial cut short.
    pub(crate) fn cut_short(&mut self) {
        if self.record.phases.len() > self.stored {
            self.current().notes.push("cut short".to_owned());
            self.close();
        }
    }

    /// Completes the latest phase. One that measured several loads at once is recorded once for each.
    fn close(&mut self) {
        let end_ns = self.now_ns();
        let profiles = self.profiler.map(Profiler::take).unwrap_or_default();
        let profiles = put_together(profiles, &take(&mut self.of_guests));
        if let Some(mut latest) = self.record.phases.pop() {
            if latest.end_ns == latest.start_ns {
                latest.end_ns = end_ns;
            }
            latest.profiles = profiles;
            self.record.phases.extend(split(latest));
        }
    }

    /// Ends the time of the latest phase; work that follows for it counts no more.
    pub(crate) fn time_is_over(&mut self) {
        self.current().end_ns = self.now_ns();
    }

    /// Notes the fault that ended the trial. A deadline that passed during a pause of the controller, or a host lost then, is only its effect.
    pub(crate) fn fault(&mut self, fault: &Fault) {
        let mut fault = self.stood_still().unwrap_or_else(|| fault.clone());
        fault.phase =
            self.record.phases.last().map_or_else(|| "set-up".to_owned(), |phase| phase.name.clone());
        self.observer.on(&Event::Fault { fault: &fault });
        self.record.faults.push(fault);
    }

    /// The fault of a pause of the controller: times across it are worthless.
    fn stood_still(&self) -> Option<Fault> {
        let pause = self.standstill.take()?;
        let what = format!(
            "Plimsoll itself stood still for {:.1} s: it was stopped, or the machine was suspended",
            pause.as_secs_f64()
        );
        Some(Fault { phase: String::new(), kind: FaultKind::StoodStill, what })
    }

    /// The phase that was begun last.
    pub(crate) fn latest(&self) -> &PhaseRecord {
        self.record.phases.last().expect("a phase was begun")
    }

    pub(crate) fn current(&mut self) -> &mut PhaseRecord {
        self.record.phases.last_mut().expect("a phase was begun")
    }

    /// The counted slices of a phase.
    pub(crate) fn measured<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Slice> {
        let phases = self
            .record
            .phases
            .iter()
            .filter(move |phase| phase.name == name && phase.kind == PhaseKind::Measure);
        phases.flat_map(|phase| &phase.slices)
    }
}
