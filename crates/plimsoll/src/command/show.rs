//! `plimsoll show`.

use std::io::{self, Write};

use plimsoll_model::cause::CauseId;
use plimsoll_model::observation::{Profile, TrialRecord};
use plimsoll_model::plan::Plan;
use plimsoll_model::report::{RunReport, RunStatus};
use plimsoll_model::verdict::Outcome;
use plimsoll_report::html::Drawn;
use plimsoll_report::html::bundle::Bundle;
use plimsoll_store::{RunEntry, Store};

use crate::args::{Format, PageFormat, PlanArgs, ShowArgs};
use crate::command::import;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::shipped::Source;
use crate::{command, environment, output, state};

pub(crate) fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    let store = state::open_to_read(args.store.store.as_deref())?;
    let entry = state::find(&store, &args.run)?;
    if let Some(import) = import::stored::get(&store, &entry)? {
        import.print(as_page(args.format)?)?;
        return Ok(Exit::Holds);
    }
    let (plan, report, trials) = load(&store, &entry.id)?;
    let printing = Printing { format: args.format, details: args.details };
    print(printing, &store, &plan, &report, &trials)?;
    // Whatever a run found, it can be shown; one that failed has the exit status that it had.
    Ok(if report.status == RunStatus::Failed { Exit::of_run(&report) } else { Exit::Holds })
}

/// Formats of imported runs.
pub(crate) fn as_page(format: Format) -> Result<PageFormat, Failure> {
    match format {
        Format::Text => Ok(PageFormat::Text),
        Format::Json => Ok(PageFormat::Json),
        Format::Html => Ok(PageFormat::Html),
        Format::Mail => Ok(PageFormat::Mail),
        _ => Err(Failure::Usage("an imported run is printed as text, json, html or mail".into())),
    }
}

/// A stored run, judged again from its observations.
pub(crate) fn load(store: &Store, id: &str) -> Result<(Plan, RunReport, Vec<TrialRecord>), Failure> {
    let entry = state::as_it_is(store, state::find(store, id)?);
    let trials = store.trials(&entry.id)?;
    let plan = plan_of(&entry)?;
    let mut report = command::report_of(&plan, &entry, &trials);
    if !report.causes.is_empty() {
        let confirmed = confirmed(store, &entry)?;
        for cause in &mut report.causes {
            cause.confirmed |= confirmed.contains(&cause.id);
        }
    }
    report.environment = environment::of(store, &plan, &entry, command::settings_of_run(&entry))?;
    Ok((plan, report, trials))
}

/// The causes of a run that interventions have confirmed, in runs of their own (`explain --confirm`).
fn confirmed(store: &Store, entry: &RunEntry) -> Result<Vec<CauseId>, Failure> {
    let mut found = Vec::new();
    for id in store.interventions_for(&entry.id)? {
        let other = state::find(store, &id)?;
        let (_, report, _) = load(store, &other.id)?;
        let verdicts = report.verdicts.into_iter().map(|finding| finding.verdict);
        found.extend(verdicts.filter_map(|verdict| match verdict.causes[..] {
            [cause] if verdict.outcome == Outcome::Confirmed => Some(cause),
            _ => None,
        }));
    }
    Ok(found)
}

/// The file and the settings that are stored with a run.
pub(crate) fn stored(entry: &RunEntry) -> Result<(Source, PlanArgs), Failure> {
    if import::stored::is_imported(entry) {
        return Err(Failure::Usage(format!(
            "run {} was imported from {}: it has figures, and no trials; `show`, `export`, `compare` and `gate` take it",
            entry.id, entry.experiment
        )));
    }
    let args: PlanArgs = serde_json::from_value(entry.settings.clone()).map_err(|error| {
        Failure::could_not(format!("the settings of run {} cannot be read: {error}", entry.id))
    })?;
    let source = Source {
        name: entry.experiment.clone(),
        origin: format!("experiment of run {}", entry.id),
        area: None,
        is_stored: true,
        text: entry.source.clone(),
    };
    Ok((source, args))
}

/// Where the experiment of a stored run came from, for the files that it names.
pub(crate) fn origin(entry: &RunEntry) -> Result<Source, Failure> {
    let (source, args) = stored(entry)?;
    let shipped = || crate::shipped::all().into_iter().find(|shipped| shipped.name == args.origin);
    Ok(Source { area: shipped().and_then(|shipped| shipped.area), origin: args.origin, ..source })
}

/// The plan of a stored run.
pub(crate) fn plan_of(entry: &RunEntry) -> Result<Plan, Failure> {
    let (source, args) = stored(entry)?;
    let plan = command::plan_without_files(&source, &args)?;
    Ok(if args.on_loopback { plan.on_loopback() } else { plan })
}

/// Writes the page of a run.
pub(crate) fn page(
    out: &mut dyn Write,
    store: &Store,
    plan: &Plan,
    report: &RunReport,
    trials: &[TrialRecord],
    bundle: Bundle,
) -> io::Result<()> {
    store.fetch_files(&report.run).map_err(io::Error::other)?;
    let time_sequences = plimsoll_assess::time_sequences(state::folder(store), trials);
    let stacks = plimsoll_assess::stacks(plan, trials);
    let drawn = Drawn { time_sequences: &time_sequences, stacks: stacks.as_ref(), bundle, served: false };
    plimsoll_report::html::run(out, report, trials, &drawn)
}

/// Prints the stacks of a run as text: of the two sides that its verdict compares, else all of them.
pub(crate) fn folded(plan: &Plan, report: &RunReport, trials: &[TrialRecord]) -> Result<(), Failure> {
    match stacks(plan, report, trials)? {
        Stacks::Sides(stacks, operations) => {
            output::document(|out| plimsoll_report::folded::difference(out, &stacks, operations))
        }
        Stacks::All(profile) => output::document(|out| plimsoll_report::folded::all(out, &profile)),
    }
}

/// Writes the profile for pprof.
pub(crate) fn pprof(plan: &Plan, report: &RunReport, trials: &[TrialRecord]) -> Result<(), Failure> {
    let stacks = stacks(plan, report, trials)?;
    output::bytes("a profile of pprof", "run.pb.gz", |out| match &stacks {
        Stacks::Sides(stacks, operations) => plimsoll_report::pprof::difference(out, stacks, *operations),
        Stacks::All(profile) => plimsoll_report::pprof::all(out, profile),
    })
}

/// The stacks of a run.
enum Stacks {
    /// Of the two sides that its verdict compares, and how many operations these had.
    Sides(Box<[Profile; 2]>, [u64; 2]),
    All(Box<Profile>),
}

fn stacks(plan: &Plan, report: &RunReport, trials: &[TrialRecord]) -> Result<Stacks, Failure> {
    if let Some((stacks, profile)) = plimsoll_assess::stacks(plan, trials).zip(report.profile.as_ref()) {
        let operations = [profile.before.operations, profile.after.operations];
        return Ok(Stacks::Sides(Box::new(stacks), operations));
    }
    plimsoll_assess::all_stacks(trials).map(|profile| Stacks::All(Box::new(profile))).ok_or_else(|| {
        Failure::Usage(format!(
            "run {} has no stack samples; they need probes and the permission to profile (see `plimsoll doctor`)",
            report.run
        ))
    })
}

/// How a run is printed.
#[derive(Clone, Copy)]
pub(crate) struct Printing {
    pub(crate) format: Format,
    /// Whether text has everything, or the answer alone.
    pub(crate) details: bool,
}

/// Prints a run to stdout.
pub(crate) fn print(
    Printing { format, details }: Printing,
    store: &Store,
    plan: &Plan,
    report: &RunReport,
    trials: &[TrialRecord],
) -> Result<(), Failure> {
    match format {
        Format::Text if details => {
            output::styled(|out, options| plimsoll_report::text::details(out, report, options))
        }
        Format::Text => {
            let named = state::named(store);
            output::styled(|out, options| {
                plimsoll_report::text::brief(out, report, named.as_deref(), options)
            })
        }
        Format::Json => output::json(report),
        Format::Html => output::document(|out| page(out, store, plan, report, trials, Bundle::Inside)),
        Format::Mail => output::text(|out| plimsoll_report::text::mailing_list(out, report)),
        Format::Junit => output::document(|out| plimsoll_report::junit::run(out, report)),
        Format::Markdown => output::document(|out| plimsoll_report::markdown::run(out, report)),
        Format::Postal => output::document(|out| plimsoll_report::postal::run(out, report)),
        Format::Folded => folded(plan, report, trials),
        Format::Jsonl => Err(Failure::Usage(
            "events belong to a run in progress (`plimsoll run --format jsonl`); `plimsoll export --format jsonl` has the values of a stored run"
                .into(),
        )),
    }
}
