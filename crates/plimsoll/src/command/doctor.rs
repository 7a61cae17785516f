//! `plimsoll doctor`: abilities of this machine, and remains of killed runs.

use plimsoll_host::{Abandoned, AbandonedJournal, Access};
use plimsoll_model::observation::ProfileClock;
use plimsoll_probe::profile::{self, HERTZ};

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{captures, output, state, team};

pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let access = Access::detect()?;
    let hosts = match &access {
        Access::Root => "namespaces, as root".to_owned(),
        Access::UserNamespace => "namespaces, in a user namespace of the run's own".to_owned(),
        Access::Local(why) => {
            format!("only `local` ones on loopback addresses: user namespaces are forbidden {why}")
        }
    };
    let caches = match (&access, plimsoll_host::root_lacks()) {
        (Access::Root, _) => "can be dropped".to_owned(),
        (_, Some(lacks)) => format!("cannot be dropped (root lacks {lacks} here)"),
        (_, None) => "cannot be dropped (needs root)".to_owned(),
    };
    let profiles = match profile::usable_clock() {
        Ok(ProfileClock::Cycles) => format!("{HERTZ} samples a second and CPU, by cycle counters"),
        Ok(ProfileClock::CpuClock) => format!("{HERTZ} samples a second and CPU, by a timer"),
        Err(error) => format!("none: {error}"),
    };
    let place = state::place(args.store.store.as_deref())?;
    let store = state::open(args.store.store.as_deref());
    let captured = match &store {
        Ok(store) => captures::all(store)
            .map_err(|error| Failure::could_not(format!("the captures of runs cannot be read: {error}")))?,
        Err(_) => Vec::new(),
    };
    // A damaged store must not hide what a killed run left on the machine.
    let runs = match store.as_ref().map(|store| store.runs(None)) {
        Ok(Ok(runs)) => format!("{place} ({} stored)", runs.len()),
        Ok(Err(error)) => format!("cannot be read: {error}"),
        Err(_) => format!("cannot be kept in {place}"),
    };
    let left =
        team::left(&place, store.as_ref().ok()).unwrap_or_else(|failure| Some(format!("unknown: {failure}")));
    let leftovers = plimsoll_host::leftovers()?;
    let Abandoned { journals, refused } = plimsoll_host::abandoned_journals()?;
    let refused: Vec<&String> =
        refused.iter().chain(journals.iter().flat_map(AbandonedJournal::refused)).collect();
    let entries: Vec<_> = journals.iter().flat_map(AbandonedJournal::describe).collect();
    let number = |count: usize| if count == 0 { "none".to_owned() } else { count.to_string() };
    output::text(|out| {
        writeln!(out, "hosts            {hosts}")?;
        writeln!(out, "kernel caches    {caches}")?;
        writeln!(out, "profiles         {profiles}")?;
        writeln!(out, "runs             {runs}")?;
        left.iter().try_for_each(|left| writeln!(out, "not handed on    {left}"))?;
        writeln!(out, "captures         {}", number(captured.len()))?;
        captured.iter().try_for_each(|of| writeln!(out, "  {of}"))?;
        writeln!(out, "leftovers        {}", number(leftovers.len() + entries.len()))?;
        leftovers.iter().try_for_each(|left| writeln!(out, "  process {}: {}", left.pid, left.command))?;
        entries.iter().try_for_each(|entry| writeln!(out, "  {entry}"))?;
        if !refused.is_empty() {
            writeln!(out, "not believed     {}", refused.len())?;
        }
        refused.iter().try_for_each(|what| writeln!(out, "  {what}"))?;
        writeln!(out, "verdicts         to measure their accuracy here: plimsoll selftest")
    })?;
    if !args.dry_run {
        // Captures are known only where the store is.
        if let (Ok(store), Some(age)) = (&store, &args.remove_captures) {
            for captured in captured.iter().filter(|of| of.is_older_than(age.0)) {
                let failed = |error| Failure::io("remove the captures in", &captured.folder, &error);
                captured.remove(store).map_err(failed)?;
            }
        }
        for left in &leftovers {
            left.remove()?;
        }
        let undone: Vec<_> = journals.iter().map(AbandonedJournal::undo).collect();
        undone.into_iter().collect::<Result<(), _>>()?;
    }
    shaped_links(&access)?;
    Ok(Exit::Holds)
}

/// Prints what shapes links, and its throughput. This comes last: an ordinary user's process moves into a user namespace for it, from
/// which it could not look at other processes any more.
fn shaped_links(access: &Access) -> Result<(), Failure> {
    if matches!(access, Access::Local(_)) {
        return output::text(|out| writeln!(out, "links            none: `local` hosts have none"));
    }
    plimsoll_host::enter()?;
    let by = match plimsoll_host::netem_missing() {
        None => "shaped by the kernel's netem".to_owned(),
        Some(why) => format!("shaped by link emulators of Plimsoll's own ({why})"),
    };
    let pace = plimsoll_host::emulator_pace()?;
    output::text(|out| {
        writeln!(out, "links            {by}")?;
        writeln!(
            out,
            "link emulators   can carry some {pace} small packets/s each; beyond that they are the bottleneck"
        )
    })
}
