//! `plimsoll selftest`: known faults and known innocents, tried on the user's own machine.
//!
//! Each case is a run of its own process, by the same command line that a user would write. What it said is compared with the truth when it is
//! over ([`score`]); the truth is in [`cases`], and nothing that carries out or judges a run knows of it.

mod carry_out;
mod cases;
mod machine;
mod print;
mod score;
mod summary;

use std::time::{Duration, Instant};

use plimsoll_model::experiment::nearest;

use crate::args::{SelftestArgs, SelftestFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::Interrupts;
use crate::messages;
use crate::output::{self, LiveLine};

use carry_out::Bench;
use cases::{ALL, Case};
use machine::Machine;
use print::Report;
use score::{Attempt, Tried};

/// How often the sign of life turns.
const TICK: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &SelftestArgs) -> Result<Exit, Failure> {
    let cases = chosen(&args.cases)?;
    if args.list {
        return print::list(args.format, &cases).map(|()| Exit::Holds);
    }
    let machine = Machine::look()?;
    let interrupts = Interrupts::listen()?;
    let mut bench = Bench::new(args.store.clone(), interrupts.clone())?;
    let began = Instant::now();
    let rounds = (1..=args.rounds).flat_map(|round| cases.iter().map(move |case| (round, *case)));
    let all = rounds.clone().count();
    let mut line = LiveLine::new(Some(TICK));
    let mut tries = Vec::with_capacity(all);
    for (n, (round, case)) in rounds.enumerate() {
        line.show(&format!("{} of {all}  {}: {}", n + 1, case.name, case.question));
        let start = Instant::now();
        let why_not = if interrupts.seen() {
            Some("interrupted before it began".to_owned())
        } else if let Some(missing) = case.needs.missing(&machine.access) {
            Some(missing)
        } else if began.elapsed() >= args.time.0 {
            Some(format!("no time was left (--for {})", args.time))
        } else {
            None
        };
        let attempt = match why_not {
            Some(why) => Attempt::NotTried(why),
            None => bench.attempt(case)?,
        };
        let tried = Tried { case, round, took_s: start.elapsed().as_secs_f64(), attempt };
        report(&line, &tried);
        tries.push(tried);
    }
    line.clear();
    let report = Report::new(&machine, &tries, began.elapsed());
    match args.format {
        SelftestFormat::Text => output::text(|out| report.text(out)),
        SelftestFormat::Json => output::json(&report.json()),
        SelftestFormat::Markdown => output::document(|out| report.markdown(out)),
    }?;
    if let Some(store) = &args.store {
        messages::note(format_args!("the runs: plimsoll history --store {}", store.display()));
    }
    Ok(if interrupts.seen() { Exit::Interrupted } else { report.exit() })
}

/// A line that stays, when a case is over.
fn report(line: &LiveLine, tried: &Tried) {
    let text = match &tried.attempt {
        Attempt::Judged { said, mark } => {
            format!(
                "{}: {} ({}), {:.0} s",
                tried.case.name,
                mark.text(),
                said.text(&tried.case.truth),
                tried.took_s
            )
        }
        Attempt::NotTried(why) => format!("{}: not tried: {why}", tried.case.name),
    };
    if line.is_seen() { line.say(&text) } else { messages::note(text) }
}

/// The cases of these names, in the order of the list; all without names.
fn chosen(names: &[String]) -> Result<Vec<&'static Case>, Failure> {
    if let Some(unknown) = names.iter().find(|name| ALL.iter().all(|case| case.name != **name)) {
        let hint = nearest(unknown, ALL.iter().map(|case| case.name));
        let hint = hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        return Err(Failure::Usage(format!(
            "there is no case `{unknown}`{hint} (`plimsoll selftest --list` shows them)"
        )));
    }
    let wanted = |case: &&Case| names.is_empty() || names.iter().any(|name| name == case.name);
    Ok(ALL.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_chosen_by_name_and_a_misspelt_one_gets_the_nearest() {
        assert_eq!(chosen(&[]).unwrap().len(), ALL.len());
        let some = chosen(&["flood-relay".into(), "few-ports".into()]).unwrap();
        assert_eq!(some.iter().map(|case| case.name).collect::<Vec<_>>(), ["few-ports", "flood-relay"]);
        let Err(Failure::Usage(text)) = chosen(&["few-port".into()]) else { panic!("there is no such case") };
        assert!(text.contains("did you mean `few-ports`?"), "{text}");
    }
}
