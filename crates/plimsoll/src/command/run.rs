//! `plimsoll run`.

mod queued;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plimsoll_host::Access;
use plimsoll_host::remote::{Means, Program};
use plimsoll_model::effect::Effect;
use plimsoll_model::note::Note;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_model::plan::intervention::Intervention;
use plimsoll_model::report::{RunReport, RunStatus};
use plimsoll_model::shell::shell_word;
use plimsoll_report::html::bundle::Bundle;
use plimsoll_run::{Context, Ended, HostProvider, Limits, Machines, Run};
use plimsoll_store::{RunEntry, Store, StoreError};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::{Format, PlainFormat, PlanArgs, QueueOption, RunArgs};
use crate::command::compare::runs;
use crate::command::show::Printing;
use crate::command::{consent, show};
use crate::environment::{self, Noted};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::judge::Judge;
use crate::other_processes::OtherProcesses;
use crate::output::full_screen;
use crate::page::Page;
use crate::progress::forecast::Estimate;
use crate::progress::lines::{Lines, Written};
use crate::progress::{Ends, Progress, ProgressOptions, ReportSoFar};
use crate::rig;
use crate::shipped::Source;
use crate::team::Keeping;
use crate::{captures, command, effects, messages, shipped, state};

/// From this number of trials on, a run first checks whether the machine is fit for it.
const LONG: usize = 20;
/// How much less is still as good as a baseline, and the chance to call a difference that is none: as `compare` has them.
const AGAINST_MARGIN: f64 = 0.01;
const AGAINST_ALPHA: f64 = 0.01;
/// Trials of one cell in that check.
const AA_TRIALS: u32 = 4;

pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let on = on(args)?;
    // Before anything that starts a thread: a process with threads cannot move into a user namespace.
    let access = match on.is_some() || leads_elsewhere(args) {
        // Connections to other machines are the user's own, with the user's keys, and in no namespace.
        true => None,
        false => Some(plimsoll_host::enter()?),
    };
    let keeping = Keeping::open(args)?;
    against(args, keeping.named())?;
    // The claim is held until the end: two processes on one run would each lose the other's pending work.
    let (plan, entry, effects, _claim) = match &args.resume {
        Some(id) => {
            let id = state::find(keeping.named(), id)?.id;
            let claim = keeping.claim(&id)?;
            // Only now is it known how far it came.
            let (plan, entry) = resumed(keeping.take_over(&id)?, &id, access.as_ref())?;
            let effects = consent::of_stored(&plan, &entry)?;
            (plan, entry, effects, claim)
        }
        None => {
            let (source, (plan, entry)) = fresh(args, access.as_ref())?;
            let effects = consent::of_file(&plan, &source);
            let claim = keeping.claim(&entry.id)?;
            (plan, entry, effects, claim)
        }
    };
    match on {
        Some(on) => queued::carry_out(args, &keeping, &plan, &effects, entry, &on),
        None => carry_out(args, &keeping, &plan, &effects, entry),
    }
}

/// Where the trials are carried out, when not here: as it is said, or as it was when the run began.
fn on(args: &RunArgs) -> Result<Option<QueueOption>, Failure> {
    let began = match &args.resume {
        None => None,
        Some(run) => {
            let store = state::open_to_read(args.store.store.as_deref())?;
            let (_, settings) = show::stored(&state::find(&store, run)?)?;
            if settings.on.is_none() && args.on.is_some() {
                return Err(Failure::Usage("the run began here and cannot continue elsewhere".into()));
            }
            settings.on
        }
    };
    // Another user may have written the store, and a queue's tasks may have more rights than the user has here.
    if let (None, Some(began)) = (&args.on, &began) {
        effects::ask_where(began, args.consent.yes)?;
    }
    let said = args.on.as_ref().or(began.as_ref());
    let read = |text: &String| text.parse().map_err(|error| Failure::Usage(format!("--on {text}: {error}")));
    said.map(read).transpose()
}

/// Measures what an intervention does to the sides that a run's verdict compared. `untested` names causes that it leaves out.
pub(crate) fn confirm(
    args: &RunArgs,
    access: &Access,
    of: &RunEntry,
    intervention: Intervention,
    untested: Vec<String>,
) -> Result<Exit, Failure> {
    let keeping = Keeping::open(args)?;
    let (source, stored) = show::stored(of)?;
    let what: Vec<&str> = intervention.changes().map(|one| one.change.what.as_str()).collect();
    let what = what.join(", and ");
    let mut settings = PlanArgs { intervention: Some(intervention), on: None, ..stored };
    settings.on_loopback |= matches!(access, Access::Local(_));
    let (plan, mut entry) = planned(source, settings, args.seed, Some(access))?;
    entry.notes.extend(untested.into_iter().map(Note::from));
    if plan.experiment.is_remote() && *access != Access::Root {
        // This process has moved into a user namespace, in which ssh(1) does not know whose keys to take.
        return Err(Failure::could_not("confirming a cause on existing machines requires root"));
    }
    effects::ask_before(&what, args.consent.yes)?;
    let effects = consent::of_stored(&plan, &entry)?;
    let _claim = keeping.claim(&entry.id)?;
    carry_out(args, &keeping, &plan, &effects, entry)
}

fn carry_out(
    args: &RunArgs,
    keeping: &Keeping,
    plan: &Plan,
    effects: &[Effect],
    mut entry: RunEntry,
) -> Result<Exit, Failure> {
    let store = keeping.own();
    rig::check_cpus(plan)?;
    refuse_to_destroy(args, plan)?;
    effects::ask(effects, &args.consent)?;
    let path = args.html.clone().unwrap_or_else(|| state::page_path(keeping.named(), &entry.id));
    // Before anything is measured for it.
    let page = state::open_page(&path, bundle(args)).map_err(|error| Failure::io("write", &path, &error))?;
    let ends = Ends::default();
    let interrupt = &ends.now;
    listen(interrupt)?;
    let limits = limits(args, plan);
    let is_remote = plan.experiment.is_remote();
    let provider: Box<dyn HostProvider> = match is_remote {
        true => Box::new(Machines {
            means: Program::this()
                .map(Means::with)
                .map_err(|error| Failure::could_not(format!("cannot read the program itself: {error}")))?,
            targets: args.allow_target.clone(),
            interrupt: Arc::clone(interrupt),
        }),
        false => Box::new(rig::namespaces(args.destroy.clone(), interrupt)?),
    };
    // Processes on other machines are not seen from here.
    let (profiler, unprofiled) = if is_remote { (None, None) } else { rig::profiler(plan) };
    let context = Context {
        plan,
        provider: &*provider,
        judge: &Judge,
        profiler: profiler.as_ref().map(|profiler| profiler as &dyn plimsoll_run::Profiler),
        store,
        interrupt,
        skip: &ends.phase,
    };
    let run = Run { context, last_trial: &ends.after_trial, limits, only: None };
    let noted = args.resume.is_none().then(|| Noted::now(plan)).transpose()?;
    let id = entry.id.clone();
    entry.notes.extend(unprofiled.filter(|note| !entry.notes.contains(note)));
    let earlier = keeping.named().times_like(&entry)?;
    // An estimate helps a user who waits at a terminal; in a script, stderr holds errors only.
    if io::stderr().is_terminal() {
        messages::note(Estimate::of(plan, earlier.as_ref()));
    }
    let options = ProgressOptions { live: !args.no_live, heartbeat: heartbeat(args) };
    let report = report_so_far(store, &id, &path, bundle(args));
    let mut progress =
        Progress::begin(plan, &entry, earlier, &options, &ends, report, keeping.named().under_way_file(&id));
    let mut lines = (args.format == Format::Jsonl).then(|| Lines::begin(plan, &entry));
    let mut written = Written { observer: &mut progress, lines: lines.as_mut() };
    let mut uploader = keeping.behind(&id, interrupt, &mut written);
    let mut others = OtherProcesses::behind(&mut uploader);
    let mut ended = run.carry_out(entry, &mut others);
    if let Some(noted) = noted {
        // It belongs to the run, which is stored by now unless its store is of no use.
        ended.error = ended.error.or(noted.keep(store, &id).err().map(Into::into));
    }
    if let Err(error) = label(args, store, &id) {
        ended.error = ended.error.or(Some(error.into()));
    }
    if let Some(note) = others.note().filter(|_| !is_remote) {
        ended.entry.notes.push(note);
        ended.error = ended.error.or(store.put_run(&ended.entry).err().map(Into::into));
    }
    progress.clear();
    // A page elsewhere links to this run's page, which exists only now.
    let exit = finish(args, plan, (keeping, interrupt), (&path, &page), ended, lines);
    drop(progress);
    exit
}

/// Sets the flag at the first signal to end. The second does not wait for anything any more, but gives the terminal back.
pub(crate) fn listen(interrupt: &Arc<AtomicBool>) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| Failure::no_signals(&error))?;
    let interrupt = Arc::clone(interrupt);
    let wait = move || {
        for _ in signals.forever() {
            if interrupt.swap(true, Ordering::AcqRel) {
                full_screen::restore();
                signal_hook::low_level::exit(130);
            }
        }
    };
    thread::Builder::new()
        .name("signals".into())
        .spawn(wait)
        .map(drop)
        .map_err(|error| Failure::no_signals(&error))
}

/// The page during the run. Another thread writes it, since the thread of the run has exclusive use of the file of runs.
fn report_so_far(store: &Store, run: &str, path: &Path, bundle: Bundle) -> ReportSoFar {
    let (kept, id, place) = (store.place().clone(), run.to_owned(), path.to_owned());
    let write = move || {
        let store = Store::open_at_to_read(&kept)?;
        let (plan, report, trials) = show::load(&store, &id)?;
        if bundle == Bundle::Beside {
            state::keep_bundle(&place)?;
        }
        let failed = |error| Failure::io("write", &place, &error);
        let page = state::open_page(&place, bundle).map_err(failed)?;
        if page.is_stream() {
            return Ok(false);
        }
        page.write(|out| show::page(out, &store, &plan, &report, &trials, bundle)).map_err(failed)?;
        Ok(true)
    };
    ReportSoFar::new(run, path, Box::new(write))
}

/// A page that was asked for at a place of its own stands alone.
fn bundle(args: &RunArgs) -> Bundle {
    if args.html.is_some() { Bundle::Inside } else { Bundle::Beside }
}

/// Interval of progress lines without a terminal.
fn heartbeat(args: &RunArgs) -> Option<Duration> {
    args.heartbeat.map(|every| every.0).filter(|every| !every.is_zero())
}

/// A load that writes to a block device destroys its contents, so the user has to name the device.
fn refuse_to_destroy(args: &RunArgs, plan: &Plan) -> Result<(), Failure> {
    for experiment in plan.cells.iter().map(|cell| &cell.experiment) {
        for (name, load) in &experiment.loads {
            let device = experiment.volumes.get(&load.to).and_then(|volume| volume.device.as_deref());
            let (Some(device), Some(storage)) = (device, load.kind.storage()) else { continue };
            if storage.writes() && !args.destroy.iter().any(|allowed| allowed.as_os_str() == device) {
                return Err(Failure::Usage(format!(
                    "the load `{name}` overwrites all data on {device}; `--destroy {device}` allows that"
                )));
            }
        }
    }
    Ok(())
}

/// Judges, prints and draws what was measured, however the run ended.
fn finish(
    args: &RunArgs,
    plan: &Plan,
    (keeping, interrupt): (&Keeping, &Arc<AtomicBool>),
    page: (&Path, &Page),
    ended: Ended,
    lines: Option<Lines>,
) -> Result<Exit, Failure> {
    let store = keeping.own();
    let mut report = command::report_of(plan, &ended.entry, &ended.trials);
    match environment::of(store, plan, &ended.entry, command::settings_of_run(&ended.entry)) {
        Ok(environment) => report.environment = environment,
        // The first error is the one to report.
        Err(_) if ended.error.is_some() => {}
        Err(error) => {
            hand_over(keeping, &report.run, interrupt);
            return Err(error);
        }
    }
    let measured = ended.trials.iter().any(|trial| !trial.phases.is_empty());
    let printed = if measured || ended.error.is_none() {
        print(args, plan, keeping, page, (&report, &ended.trials), lines)
    } else {
        Ok(())
    };
    // The error of the run comes before an error of its report: both may come from the same full disk.
    if let Some(error) = ended.error {
        hand_over(keeping, &report.run, interrupt);
        return Err(error.into());
    }
    let found = report.verdicts.iter().map(|finding| state::in_short(&finding.verdict));
    let stored = store
        .put_outcomes(&report.run, &found.collect::<Vec<_>>())
        .and_then(|()| store.put_figures(&report.run, &command::followed(&report)));
    // A page that cannot be written keeps nothing from those who share the store.
    let delivered = keeping.deliver(&report.run, interrupt);
    printed?;
    stored?;
    delivered?;
    Ok(match ended.entry.status {
        RunStatus::Interrupted => {
            let (_, settings) = show::stored(&ended.entry)?;
            let on = settings.on.map_or_else(String::new, |on| format!(" --on {}", shell_word(&on)));
            messages::say(format_args!(
                "interrupted; continue with: plimsoll run --resume {}{on}",
                report.run
            ));
            Exit::Interrupted
        }
        RunStatus::Running | RunStatus::Complete | RunStatus::Failed => {
            let exit = Exit::of_run(&report);
            match against(args, keeping.named())? {
                Some(baseline) => exit.and(compare(args, &baseline, &report.run)?),
                None => exit,
            }
        }
    })
}

/// Delivers a run that stopped early to its store. A failure to do so is reported besides the reason for the stop.
fn hand_over(keeping: &Keeping, run: &str, interrupt: &Arc<AtomicBool>) {
    if let Err(failure) = keeping.deliver(run, interrupt) {
        failure.print();
    }
}

/// Stores the tags and the note that the run was given.
fn label(args: &RunArgs, store: &Store, run: &str) -> Result<(), StoreError> {
    store.add_tags(run, &args.tag)?;
    args.note.as_ref().map_or(Ok(()), |note| store.put_remark(run, note))
}

/// The id of the run to compare this one with. It is looked up before anything is measured.
fn against(args: &RunArgs, store: &Store) -> Result<Option<String>, Failure> {
    let Some(name) = &args.against else { return Ok(None) };
    if args.format != Format::Text {
        return Err(Failure::Usage(
            "--against adds a comparison in text; with other formats, run `plimsoll compare BASELINE RUN --format json` afterwards".into(),
        ));
    }
    Ok(Some(state::find(store, name)?.id))
}

fn compare(args: &RunArgs, baseline: &str, run: &str) -> Result<Exit, Failure> {
    let question = runs::Question {
        store: args.store.store.as_deref(),
        margin: AGAINST_MARGIN,
        alpha: AGAINST_ALPHA,
        format: PlainFormat::Text,
    };
    runs::run(&question, baseline, run)
}

/// Prints what was measured, and draws the page.
fn print(
    args: &RunArgs,
    plan: &Plan,
    keeping: &Keeping,
    (path, page): (&Path, &Page),
    (report, trials): (&RunReport, &[TrialRecord]),
    lines: Option<Lines>,
) -> Result<(), Failure> {
    let store = keeping.own();
    let drawn = draw(args, (plan, store), (path, page), (report, trials));
    if args.format == Format::Text && drawn.is_ok() {
        // Before the text, whose last line is the verdict.
        messages::note(format_args!("charts: {}", path.display()));
        // On a server they are not in files.
        if let Some(captured) = captures::of_run(keeping.named(), &report.run) {
            messages::note(format_args!("packets: {captured}"));
        }
    }
    let printing = Printing { format: args.format, details: args.details };
    match lines {
        Some(lines) => lines.end(report),
        None => show::print(printing, store, plan, report, trials),
    }?;
    drawn
}

/// Draws the page.
fn draw(
    args: &RunArgs,
    (plan, store): (&Plan, &Store),
    (path, page): (&Path, &Page),
    (report, trials): (&RunReport, &[TrialRecord]),
) -> Result<(), Failure> {
    let bundle = bundle(args);
    if bundle == Bundle::Beside {
        state::keep_bundle(path)?;
    }
    page.write(|out| show::page(out, store, plan, report, trials, bundle))
        .map_err(|error| Failure::io("write", path, &error))
}

/// Whether the hosts of the experiment are machines that exist already. Errors in the file are reported later, when the
/// run reads it.
fn leads_elsewhere(args: &RunArgs) -> bool {
    let plan = match (&args.experiment, &args.resume) {
        (Some(experiment), _) => {
            shipped::find(experiment).and_then(|source| command::plan_without_files(&source, &args.plan))
        }
        (None, Some(run)) => state::open_to_read(args.store.store.as_deref())
            .and_then(|store| show::plan_of(&state::find(&store, run)?)),
        (None, None) => return false,
    };
    plan.is_ok_and(|plan| plan.experiment.is_remote())
}

fn fresh(args: &RunArgs, access: Option<&Access>) -> Result<(Source, (Plan, RunEntry)), Failure> {
    let Some(experiment) = &args.experiment else { return Err(Failure::Usage("which experiment?".into())) };
    let source = shipped::find(experiment)?;
    let mut settings = PlanArgs {
        origin: experiment.clone(),
        on_loopback: matches!(access, Some(Access::Local(_))),
        on: args.on.clone(),
        ..args.plan.clone()
    };
    // As settings they are stored with the run, and hold when it is resumed.
    settings.set.extend(
        args.reps
            .iter()
            .flat_map(|reps| ["min_trials", "max_trials"].map(|limit| format!("run.{limit}={reps}"))),
    );
    settings.set.extend(args.budget.map(|budget| format!("run.budget={budget}")));
    let planned = planned(source.clone(), settings, args.seed, access)?;
    Ok((source, planned))
}

/// A plan, and the entry of a run that carries it out.
fn planned(
    source: Source,
    mut settings: PlanArgs,
    seed: Option<u64>,
    access: Option<&Access>,
) -> Result<(Plan, RunEntry), Failure> {
    let plan = command::plan(&source, &settings)?;
    if settings.on_loopback && plan.cells.iter().any(|cell| cell.experiment.has_own_kernels()) {
        return Err(Failure::could_not(
            "the experiment has virtual machines, which need namespaces, and these are forbidden here; without them it would measure this machine's kernel",
        ));
    }
    settings.files = plan.templates();
    settings.on_loopback &= plan.experiment.hosts.values().any(|host| host.kind.own().network);
    let settings_json = serde_json::to_value(&settings)
        .map_err(|error| Failure::could_not(format!("the settings cannot be stored: {error}")))?;
    let entry = RunEntry {
        id: state::new_id(),
        experiment: source.name,
        source: source.text,
        settings: settings_json,
        seed: seed.unwrap_or_else(rand::random),
        started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        elapsed: Duration::ZERO,
        status: RunStatus::Interrupted,
        // Tasks of a queue report their own notes.
        notes: (settings.on.is_none().then(|| notes(access, settings.on_loopback)).into_iter().flatten())
            .chain(plimsoll_assess::shortfalls(&plan))
            .map(Note::from)
            .collect(),
    };
    Ok((if settings.on_loopback { plan.on_loopback() } else { plan }, entry))
}

fn resumed(store: &Store, id: &str, access: Option<&Access>) -> Result<(Plan, RunEntry), Failure> {
    let entry = state::find(store, id)?;
    if entry.status == RunStatus::Complete {
        return Err(Failure::Usage(format!(
            "the run {} is complete; `plimsoll show {}` shows it",
            entry.id, entry.id
        )));
    }
    let (_, settings) = show::stored(&entry)?;
    let plan = command::with_files(show::plan_of(&entry)?, &show::origin(&entry)?, &settings)?;
    let needs_namespaces = plan.experiment.hosts.values().any(|host| host.kind.own().network);
    match access {
        Some(Access::Local(why)) if needs_namespaces => Err(Failure::could_not(format!(
            "the run {} began on namespaces, and user namespaces are forbidden here {why}",
            entry.id
        ))),
        _ => Ok((plan, entry)),
    }
}

/// Notes to the reader of the figures.
pub(crate) fn notes(access: Option<&Access>, on_loopback: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match access {
        None => notes.push(
            "the hosts are existing machines: their CPUs were not profiled, and they were not rebuilt between trials".to_owned(),
        ),
        Some(Access::Root) => {}
        Some(Access::UserNamespace) => notes.push(
            "ran without root, in its own user namespace: kernel caches could not be dropped, and slabs not read".to_owned(),
        ),
        Some(Access::Local(why)) if on_loopback => notes.push(format!(
            "user namespaces are forbidden here {why}. All hosts shared this machine's loopback, so that links, routes, forwarding, \
             translation of addresses and settings of the kernel were not part of it. Counters are the machine's. No host could be rebuilt, and programs \
             were not kept apart from this user's files and processes"
        )),
        Some(Access::Local(_)) => {}
    }
    notes
}

fn limits(args: &RunArgs, plan: &Plan) -> Limits {
    let run = &plan.experiment.run;
    let max_trials = args.reps.unwrap_or(run.max_trials);
    // A control is measured beside every trial, and says more.
    let varied = plan.cells.len() > 1 && plan.experiment.control.is_none();
    let long = plan.cells.len() * max_trials as usize >= LONG;
    Limits {
        min_trials: args.reps.unwrap_or(run.min_trials),
        max_trials,
        aa_test: if varied && long { AA_TRIALS } else { 0 },
        budget: args.budget.or(run.budget).map(|span| span.0),
    }
}
