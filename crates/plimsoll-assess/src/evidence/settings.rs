//! Settings that only one of two commands runs with.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_explain::causes::SETTING;
use plimsoll_explain::evidence::{Figure, rank};
use plimsoll_model::report::Evidence;

use super::{CommandRun, HERE};

/// How counters begin that say which settings a run had.
pub(super) const START: &str = "setting.";
/// Ends the name of whose setting it is.
const OF: &str = ": ";

/// The settings of a process, of the machine or of files in a run, as counters.
pub fn counters(whose: &str, all: BTreeSet<String>) -> impl Iterator<Item = (String, f64)> + use<> {
    let start = format!("{START}{whose}{OF}");
    all.into_iter().map(move |what| (format!("{start}{what}"), 1.0))
}

/// The settings that one side has in its runs and the other has not, among runs of both that saw their owner.
pub(crate) fn differing(sides: [&[CommandRun]; 2]) -> Vec<Evidence> {
    let of_sides = sides.map(|runs| runs.iter().map(of_run).collect::<Vec<_>>());
    let all = of_sides.iter().flatten();
    let each: BTreeSet<(&str, &str)> = all
        .flat_map(|run| run.iter().flat_map(|(whose, what)| what.iter().map(|it| (*whose, *it))))
        .collect();
    let figures: Vec<Figure> = each
        .into_iter()
        .map(|(whose, what)| {
            let [before, after] = of_sides.each_ref().map(|runs| {
                let seen = runs.iter().filter_map(|run| run.get(whose));
                seen.map(|all| if all.contains(what) { 100.0 } else { 0.0 }).collect()
            });
            let (host, metric) = (HERE.to_owned(), format!("{SETTING}{whose}{OF}{what}"));
            Figure { host, metric, unit: "% of runs".to_owned(), before, after, ..Figure::default() }
        })
        .collect();
    rank(&figures, usize::MAX)
}

fn of_run(run: &CommandRun) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (whose, what) in run.counters.keys().filter_map(|name| name.strip_prefix(START)?.split_once(OF)) {
        found.entry(whose).or_default().insert(what);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(settings: &[(&str, &str)]) -> CommandRun {
        let all =
            settings.iter().flat_map(|(whose, what)| counters(whose, BTreeSet::from([(*what).to_owned()])));
        CommandRun { counters: all.collect(), seconds: 1.0, operations: None }
    }

    #[test]
    fn a_setting_that_all_runs_of_one_side_have_differs_and_one_of_a_single_run_does_not() {
        let good = vec![run(&[("sort", "LC_ALL=C"), ("sort", "HOME=/root")]); 4];
        let mut bad = vec![run(&[("sort", "LC_ALL=de_DE.UTF-8"), ("sort", "HOME=/root")]); 4];
        bad[0].counters.insert("setting.sort: RUN=1".to_owned(), 1.0);
        let found = differing([&good, &bad]);
        let named: Vec<(&str, f64, f64)> =
            found.iter().map(|it| (it.metric.as_str(), it.before, it.after)).collect();
        assert_eq!(
            named,
            [("setting of sort: LC_ALL=de_DE.UTF-8", 0.0, 100.0), ("setting of sort: LC_ALL=C", 100.0, 0.0)]
        );
    }

    #[test]
    fn a_program_that_only_one_side_runs_has_nothing_to_be_compared_with() {
        let (good, bad) = (run(&[("sort", "A=1")]), run(&[("sed", "B=1")]));
        assert!(differing([&[good.clone(), good], &[bad.clone(), bad]]).is_empty());
    }
}
