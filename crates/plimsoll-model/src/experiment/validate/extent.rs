//! How large an experiment may be: no file makes a machine work for days, or run out of memory, before anything is measured.

use super::{Checked, Experiment, Part, Phase, problem};

/// The most hosts of an experiment that this machine is made into; its control has as many again. Each takes some 1.4 MB of memory and three open files.
const MOST_HOSTS: usize = 1000;
/// The most hosts that are machines which are there already: of each this one has a command and a few threads.
const MOST_REACHED: usize = 2000;
/// The most of whatever else is listed: links, services, loads, volumes, background loads, factors, claims.
const MOST_THINGS: usize = 1000;
/// The most phases that a trial goes through, with those that are repeated.
const MOST_PHASES: u64 = 100_000;
/// The most cells: 12 factors of two levels.
const MOST_CELLS: usize = 4096;
/// The most trials of a run, in all of its cells.
const MOST_TRIALS: u64 = 100_000;

pub(super) fn check(experiment: &Experiment) -> Checked {
    let Experiment { hosts, links, services, loads, volumes, background, factors, claims, .. } = experiment;
    let with_groups = hosts.values().map(|host| host.count.unwrap_or(1) as usize).sum();
    let are_reached = hosts.values().any(|host| host.reach.is_some());
    at_most("hosts", with_groups, if are_reached { MOST_REACHED } else { MOST_HOSTS })?;
    let things = [
        ("links", links.len()),
        ("services", services.len()),
        ("loads", loads.len()),
        ("volumes", volumes.len()),
        ("background", background.len()),
        ("factors", factors.len()),
        ("claims", claims.len()),
    ];
    things.into_iter().try_for_each(|(key, number)| at_most(key, number, MOST_THINGS))?;
    let phases = carried_out(&experiment.phases);
    if phases > MOST_PHASES {
        let message = format!("a trial goes through {} phases, with those that are repeated", number(phases));
        return Err(problem(path!["phases"], message, format!("at most {MOST_PHASES}")));
    }
    let cells = cells(experiment);
    if cells > MOST_CELLS as u64 {
        let key = if experiment.cells.is_empty() { "factors" } else { "cells" };
        let message = format!("there are {} cells", number(cells));
        let expected =
            format!("at most {MOST_CELLS}: fewer factors or levels, or `cells` that names some of them");
        return Err(problem(path![key], message, expected));
    }
    let trials = cells.saturating_mul(u64::from(experiment.run.max_trials));
    if trials > MOST_TRIALS {
        let message =
            format!("{cells} cells of {} trials each are {trials} trials", experiment.run.max_trials);
        return Err(problem(path!["run", "max_trials"], message, format!("at most {MOST_TRIALS} trials")));
    }
    Ok(())
}

fn at_most(key: &str, number: usize, most: usize) -> Checked {
    if number <= most {
        return Ok(());
    }
    Err(problem(path![key], format!("there are {number} {key}"), format!("at most {most}")))
}

/// A number that has no end where it could not be counted.
fn number(n: u64) -> String {
    if n == u64::MAX { format!("more than {n}") } else { n.to_string() }
}

/// The cells that are named, or one for each combination of levels.
fn cells(experiment: &Experiment) -> u64 {
    if !experiment.cells.is_empty() {
        return experiment.cells.len() as u64;
    }
    let levels = experiment.factors.values().map(|factor| factor.levels.len() as u64);
    levels.fold(1, u64::saturating_mul)
}

fn carried_out(phases: &[Phase]) -> u64 {
    let of_one = |phase: &Phase| match phase.inside().is_empty() {
        true => 1,
        false => carried_out(phase.inside()).saturating_mul(u64::from(phase.repeat.unwrap_or(1))),
    };
    phases.iter().map(of_one).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::super::super::parse;

    const SMALL: &str = r#"
question = "?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.few]
from = "a"
to = "web"
http = { duration = "1s" }
"#;
    const PHASE: &str = "[[phases]]\nname = \"all\"\nmeasure = \"few\"\n";

    fn refusal(more: &str) -> String {
        let error = parse(&format!("{SMALL}{more}"), &[]).unwrap_err();
        format!("{}; expected {}", error.message, error.expected.unwrap_or_default())
    }

    #[test]
    fn more_cells_than_can_be_carried_out_are_refused_with_their_number() {
        let levels = (1..=1000).map(|level| level.to_string()).collect::<Vec<_>>().join(", ");
        let mut text = PHASE.to_owned();
        for factor in 0..8 {
            write!(text, "[factors.f{factor}]\nset = \"run.max_trials\"\nlevels = [{levels}]\n").unwrap();
        }
        assert!(
            refusal(&text)
                .starts_with("there are more than 18446744073709551615 cells; expected at most 4096")
        );
        let two = text.split_inclusive("]\n").take(5).collect::<String>();
        assert!(refusal(&two).starts_with("there are 1000000 cells"), "{}", refusal(&two));
        let one = text.split_inclusive("]\n").take(3).collect::<String>();
        assert!(parse(&format!("{SMALL}{one}"), &[]).is_ok());
    }

    #[test]
    fn more_trials_hosts_or_phases_than_can_be_carried_out_are_refused_with_their_number() {
        let trials = format!("{PHASE}[run]\nmax_trials = 4294967295\n");
        assert!(
            refusal(&trials).contains("4294967295 trials; expected at most 100000"),
            "{}",
            refusal(&trials)
        );
        let mut hosts = PHASE.to_owned();
        for host in 0..1000 {
            writeln!(hosts, "[hosts.h{host}]").unwrap();
        }
        assert_eq!(refusal(&hosts), "there are 1001 hosts; expected at most 1000");
        let mut phases = "[[phases]]\nname = \"p\"\nrepeat = 10000\n".to_owned();
        let inner = "[[phases.steps]]\nname = \"q\"\nrepeat = 10000\n[[phases.steps.steps]]\nname = \"r\"\nmeasure = \"few\"\n";
        phases.push_str(inner);
        assert!(refusal(&phases).contains("100000000 phases"), "{}", refusal(&phases));
    }
}
