//! What an experiment does to this machine: told by `describe` and `check`, and asked about by `run`.

use std::io::{self, BufRead, IsTerminal, Write};

use plimsoll_model::effect::{Effect, EffectKind, Need};
use plimsoll_model::plan::Plan;
use plimsoll_model::shell::shell_word;
use plimsoll_report::escape::terminal;

use crate::failure::Failure;
use crate::messages;

/// What stands above the list.
pub(crate) fn heading(plan: &Plan) -> &'static str {
    match plan.experiment.is_remote() {
        true => "On the machines of the hosts that each line names, and on this one",
        false => "On this machine",
    }
}

/// The list, for people.
pub(crate) fn text(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    let effects = plan.effects();
    for kind in EffectKind::ALL {
        let of_kind: Vec<&Effect> = effects.iter().filter(|effect| effect.kind == kind).collect();
        if !of_kind.is_empty() {
            writeln!(out, "  {}", kind.title())?;
        }
        for effect in of_kind {
            writeln!(out, "    {}", line(effect))?;
        }
    }
    let root = effects.iter().any(|effect| effect.needs == Some(Need::Root));
    let settings = effects.iter().any(|effect| effect.kind == EffectKind::Setting);
    let needs = match root {
        true => "root of this machine, for what says so",
        false if settings && plan.experiment.is_remote() => "root of the machines whose settings are changed",
        false => "nothing that an ordinary user has not got",
    };
    writeln!(out, "  needs\n    {needs}")
}

/// One of them: `./server --port {port} (services.mine.exec on server), as nobody`.
fn line(effect: &Effect) -> String {
    let on = effect.host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
    let whom = effect.as_whom.map_or_else(String::new, |whom| format!(", {}", whom.words()));
    let needs = match effect.needs {
        Some(Need::Root) => ", needs root",
        None => "",
    };
    let line = format!("{} ({}{on}){whom}{needs}", effect.what, effect.by);
    terminal(&line).into_owned()
}

/// The same for programs.
pub(crate) fn json(out: &mut dyn Write, plan: &Plan, schema: &str) -> io::Result<()> {
    let experiment = &plan.experiment;
    let document = serde_json::json!({
        "schema": schema,
        "name": plan.name,
        "question": experiment.question,
        "description": experiment.description,
        "cells": plan.cells.len(),
        "machine": plan.effects(),
    });
    plimsoll_report::json::pretty(out, &document)
}

/// Goes on with a plan only if whoever started it knows what it does: programs with all of his rights are asked about on a terminal, and
/// need `--yes` elsewhere.
pub(crate) fn ask(plan: &Plan, yes: bool) -> Result<(), Failure> {
    let effects = plan.effects();
    let asked: Vec<String> = effects.iter().filter(|effect| effect.asks).map(line).collect();
    if yes || asked.is_empty() {
        return Ok(());
    }
    let what =
        format!("the experiment starts what may do all that you may do:\n    {}", asked.join("\n    "));
    go_on_or_say(&what, "`--yes` allows that")
}

/// Goes on with a run on the queue that the store names only if whoever started it knows which, and what its tasks are given there.
pub(crate) fn ask_where(on: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let on = shell_word(on);
    let what =
        format!("the run was begun with `--on {}`, and its tasks are handed on to that queue", terminal(&on));
    go_on_or_say(&what, "say `--on` anew, or `--yes`")
}

/// Goes on with an intervention only if whoever sits at the terminal agrees. Where there is none, the command line has said it.
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
