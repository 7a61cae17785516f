//! Effects of an experiment on this machine: `describe` and `check` list them, and `run` needs consent for some.

use std::collections::BTreeSet;
use std::io::{self, BufRead, IsTerminal, Write};

use plimsoll_agent::needs_of;
use plimsoll_agent::sandbox::Need as Rights;
use plimsoll_model::effect::{Consent, Effect, EffectKind, Need};
use plimsoll_model::plan::Plan;
use plimsoll_model::shell::shell_word;
use plimsoll_report::escape::terminal;
use serde_json::{Value, json};

use crate::args::ConsentArgs;
use crate::failure::Failure;
use crate::messages;

/// All effects of a file outside its own hosts, and all that its services and loads keep.
pub(crate) struct Listing {
    effects: Vec<Effect>,
    /// Rows of the sandbox's table, each with the parts of the file that use it.
    rights: Vec<(Rights, Vec<String>)>,
}

impl Listing {
    /// The list of these effects, which come from the cells of these plans.
    pub(crate) fn new(effects: Vec<Effect>, plans: &[&Plan]) -> Self {
        let mut rights: Vec<(Rights, Vec<String>)> = Vec::new();
        let cells = plans.iter().flat_map(|plan| &plan.cells);
        for (need, by) in cells.flat_map(|cell| needs_of(&cell.experiment)) {
            match rights.iter_mut().find(|(known, _)| known.name == need.name) {
                None => rights.push((need, by)),
                Some((_, known)) => {
                    let more = by.into_iter().filter(|one| !known.contains(one)).collect::<Vec<_>>();
                    known.extend(more);
                }
            }
        }
        Self { effects, rights }
    }
}

/// Heading of the list.
pub(crate) fn heading(plan: &Plan) -> &'static str {
    match plan.experiment.is_remote() {
        true => "On the machines of the hosts that each line names, and on this one",
        false => "On this machine",
    }
}

/// The list, for people.
pub(crate) fn text(out: &mut dyn Write, plan: &Plan, listing: &Listing) -> io::Result<()> {
    let Listing { effects, rights } = listing;
    for &kind in EffectKind::ALL {
        let of_kind: Vec<&Effect> = effects.iter().filter(|effect| effect.kind == kind).collect();
        if !of_kind.is_empty() {
            writeln!(out, "  {}", kind.title())?;
        }
        for effect in of_kind {
            writeln!(out, "    {}", line(effect))?;
        }
    }
    if !rights.is_empty() {
        writeln!(out, "  rights beyond those of an unprivileged program")?;
    }
    for (Rights { name, capabilities, becomes_nobody, why, .. }, by) in rights {
        let whom = if *becomes_nobody { "nobody" } else { "the caller" };
        let (capabilities, by) = (capabilities.join(", "), by.join(", "));
        writeln!(out, "    {}: {whom} with {capabilities}: {why} ({})", terminal(name), terminal(&by))?;
    }
    let root = effects.iter().any(|effect| effect.needs == Some(Need::Root));
    let settings = effects.iter().any(|effect| effect.kind == EffectKind::Setting);
    let needs = match root {
        true => "root of this machine, for what says so",
        false if settings && plan.experiment.is_remote() => "root of the machines whose settings are changed",
        false => "nothing that an ordinary user has not got",
    };
    writeln!(out, "  needs\n    {needs}")?;
    match kinds(effects).as_slice() {
        [] => Ok(()),
        kinds => writeln!(out, "    `run --allow {}`, or a yes on a terminal", names(kinds)),
    }
}

/// Kinds of consent that effects need, each once.
pub(crate) fn kinds(effects: &[Effect]) -> Vec<Consent> {
    effects.iter().filter_map(|effect| effect.allow).collect::<BTreeSet<_>>().into_iter().collect()
}

fn names(kinds: &[Consent]) -> String {
    kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(",")
}

/// An effect in a line: `./server --port {port} (services.mine.exec on server), as nobody`.
fn line(effect: &Effect) -> String {
    let on = effect.host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
    let whom = effect.as_whom.map_or_else(String::new, |whom| format!(", {}", whom.words()));
    let needs = match effect.needs {
        Some(Need::Root) => ", needs root",
        None => "",
    };
    let quick = if effect.quick { ", only with --quick" } else { "" };
    let allow = effect.allow.map_or_else(String::new, |kind| format!(", --allow {}", kind.name()));
    let line = format!("{} ({}{on}){whom}{needs}{quick}{allow}", effect.what, effect.by);
    terminal(&line).into_owned()
}

/// The effects as JSON.
pub(crate) fn json(plan: &Plan, listing: &Listing, schema: &str) -> Value {
    let experiment = &plan.experiment;
    let Listing { effects, rights } = listing;
    let rights = rights.iter().map(|(need, by)| {
        json!({
            "kind": need.name,
            "by": by,
            "as": if need.becomes_nobody { "nobody" } else { "caller" },
            "capabilities": need.capabilities,
            "why": need.why,
        })
    });
    let rights: Vec<_> = rights.collect();
    json!({
        "schema": schema,
        "name": plan.name,
        "question": experiment.question,
        "description": experiment.description,
        "cells": plan.cells.len(),
        "machine": effects,
        "rights": rights,
        "allow": kinds(effects),
    })
}

/// Goes on only with consent to every effect that needs one: from the command line, or on a terminal. Returns the kinds that were needed.
pub(crate) fn ask(effects: &[Effect], given: &ConsentArgs) -> Result<Vec<Consent>, Failure> {
    let needed = kinds(effects);
    let open: Vec<Consent> =
        needed.iter().copied().filter(|kind| !given.yes && !given.allow.contains(kind)).collect();
    if open.is_empty() {
        return Ok(needed);
    }
    let asked = effects.iter().filter(|effect| effect.allow.is_some_and(|kind| open.contains(&kind)));
    let asked: Vec<String> = asked.map(line).collect();
    let what = format!(
        "the experiment does more than an unprivileged program in namespaces of its own could:\n    {}",
        asked.join("\n    ")
    );
    go_on_or_say(&what, &format!("`--allow {}` allows that", names(&open)))?;
    Ok(needed)
}

/// Goes on with a run on the queue that the store names only if the user knows that queue and its tasks.
pub(crate) fn ask_where(on: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let on = shell_word(on);
    let what =
        format!("the run was begun with `--on {}`, and its tasks are handed on to that queue", terminal(&on));
    go_on_or_say(&what, "repeat `--on`, or say `--yes`")
}

/// Goes on with an intervention only if the user at the terminal agrees. Where there is no terminal, the command line has said it.
pub(crate) fn ask_before(what: &str, yes: bool) -> Result<(), Failure> {
    if yes || !at_a_terminal() {
        return Ok(());
    }
    go_on(&format!("the run is measured again, some of it {what}, on hosts of its own"))
}

/// Asks; where there is no terminal, says what allows it.
fn go_on_or_say(what: &str, allows: &str) -> Result<(), Failure> {
    match at_a_terminal() {
        true => go_on(what),
        false => Err(Failure::Usage(format!("{what}\n  {allows}; there is no terminal to ask on"))),
    }
}

fn at_a_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn go_on(what: &str) -> Result<(), Failure> {
    messages::ask(format_args!("plimsoll: {what}\n  Go on? [y/N] "));
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::could_not(format!("cannot read the answer: {error}")))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::Usage("nothing was started".into())),
    }
}
