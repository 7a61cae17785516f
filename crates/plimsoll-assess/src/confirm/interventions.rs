//! Changes that show whether a cause is the cause.

use plimsoll_explain::causes::{change, page};
use plimsoll_model::cause::Cause;
use plimsoll_model::experiment::Metric;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_model::plan::intervention::{CauseChange, Compared, Intervention};

use crate::sides::{self, Difference};
use crate::{claims, contrast};

/// The changes that test causes of a run, as far as there are any, and a sentence for each cause that is not tested.
pub fn intervention<'c>(
    plan: &Plan,
    trials: &[TrialRecord],
    run: &str,
    causes: impl IntoIterator<Item = &'c Cause>,
) -> (Option<Intervention>, Vec<String>) {
    let Some(compared) = compared(plan, trials) else {
        return (None, vec!["the run shows no loss, so there is nothing to restore".to_owned()]);
    };
    let cell = match &compared {
        Compared::Recovery { .. } => plan.cells.first(),
        Compared::Sides { worse, .. } => plan.cells.iter().find(|cell| contrast::is_of(worse, &cell.levels)),
    };
    let experiment = cell.map_or(&plan.experiment, |cell| &cell.experiment);
    let (mut changes, mut untested): (Vec<CauseChange>, _) = (Vec::new(), Vec::new());
    for Cause { id, .. } in causes {
        match change(*id, experiment) {
            Err(why) => untested.push(format!(
                "{} has no intervention: {why}; to test it by hand: {}",
                id.id(),
                page(*id).test
            )),
            Ok(change) => match changes.iter().find(|known| known.change == change) {
                Some(known) => untested.push(format!(
                    "{} has the same intervention as {}, which cannot tell them apart",
                    id.id(),
                    known.cause.id()
                )),
                None => changes.push(CauseChange { cause: *id, change }),
            },
        }
    }
    let mut changes = changes.into_iter();
    let intervention = changes.next().map(|first| Intervention {
        run: run.to_owned(),
        compared,
        first,
        others: changes.collect(),
    });
    (intervention, untested)
}

/// Sides of the run's verdict.
fn compared(plan: &Plan, trials: &[TrialRecord]) -> Option<Compared> {
    if let Some(claim) = plan.experiment.claims.iter().find_map(|claim| claim.recovery()) {
        return Some(Compared::Recovery { after: claim.after.clone() });
    }
    let findings = claims::findings(plan, trials);
    let Difference { phase, metric, sides: [better, worse] } = sides::better_and_worse(&findings)?;
    // A figure that a program prints is known to the claim alone.
    let of_claim = || {
        let claims = plan.experiment.claims.iter().filter_map(|claim| claim.difference());
        let mut metrics = claims.filter(|claim| claim.phase == phase).map(|claim| claim.metric);
        metrics.find(|metric| Metric::named(metric.name()).is_none())
    };
    let metric = metric.or_else(of_claim)?;
    let (better, worse) = (better.clone(), worse.clone());
    Some(Compared::Sides { phase: phase.to_owned(), metric, better, worse })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use plimsoll_model::cause::CauseId;
    use plimsoll_model::plan::Settings;

    use super::*;

    /// The plan in which a change is applied before the first phase that measures; `None` if the change cannot be made there.
    fn applied(plan: &Plan, (name, text): (&str, &str), cause: CauseId) -> Option<Plan> {
        let experiment = &plan.cells.first()?.experiment;
        let after = experiment.all_phases().find(|phase| phase.measured_load().is_some())?.name.clone();
        let mut cells = plan.cells.iter();
        let change = cells.find_map(|cell| change(cause, &cell.experiment).ok())?;
        let (run, compared) = ("r".to_owned(), Compared::Recovery { after });
        let first = CauseChange { cause, change };
        let intervention = Intervention { run, compared, first, others: Vec::new() };
        let settings = Settings { intervention: Some(intervention), ..Settings::default() };
        Some(
            Plan::read(name, text, &settings)
                .unwrap_or_else(|error| panic!("{name}, {}: {error}", cause.id())),
        )
    }

    fn plan(name: &str, text: &str) -> Plan {
        Plan::read(name, text, &Settings::default()).unwrap()
    }

    fn experiments(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                experiments(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
            }
        }
    }

    #[test]
    fn every_change_can_be_made_in_every_shipped_experiment_that_it_suits() {
        let mut all = Vec::new();
        experiments(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments"), &mut all);
        let mut made: BTreeMap<CauseId, usize> = BTreeMap::new();
        for (name, text) in &all {
            // Rules of an inventory are no experiment.
            if !text.contains("[[phases]]") {
                continue;
            }
            let plan = plan(name, text);
            for &cause in CauseId::ALL {
                if let Some(plan) = applied(&plan, (name, text), cause) {
                    assert_eq!(plan.cells.len(), 2, "{name}");
                    *made.entry(cause).or_default() += 1;
                }
            }
        }
        for cause in [
            CauseId::NetRuleChain,
            CauseId::NetListenOverflow,
            CauseId::NetSmallBuffer,
            CauseId::NetSenderCorked,
            CauseId::NetPacketLoss,
            CauseId::NetShaped,
            CauseId::DiskFull,
            CauseId::LimitWatches,
            CauseId::ProbeEffect,
        ] {
            assert!(made.contains_key(&cause), "{cause:?} {made:?}");
        }
    }

    const HELD: &str = r#"
question = "which?"
[hosts.a]
memory = "64M"
[services.web]
on = "a"
web = { backlog = 1 }
[loads.some]
from = "a"
to = "web"
http = { connections = 1000 }
[[phases]]
name = "all"
measure = "some"
"#;

    #[test]
    fn what_held_the_system_down_is_as_large_as_it_should_be() {
        let held = plan("held", HELD);
        let applied = |cause| applied(&held, ("held", HELD), cause);
        let of = |cause| applied(cause).unwrap().cells.pop().unwrap().experiment;
        let backlog = of(CauseId::NetListenOverflow);
        assert_eq!(backlog.services["web"].kind.web().unwrap().backlog, 4096);
        assert_eq!(backlog.hosts["a"].sysctls["net.core.somaxconn"].to_string(), "4096");
        assert_eq!(of(CauseId::MemoryOom).hosts["a"].memory.unwrap().0, 8 * (64 << 20));
        assert_eq!(of(CauseId::NetRuleChain).phases[0].actions().count(), 1);
        assert!(applied(CauseId::DiskCompetingIo).is_none(), "it has no background load");
    }

    #[test]
    fn what_cannot_be_tested_is_listed_beside_what_can() {
        let text = format!(
            "{HELD}[factors.queue]\nset = \"services.web.web.backlog\"\nlevels = [511, 1]\n[[claims]]\n\
             recovery = {{ baseline = \"all\", after = \"all\", margin = \"5 %\" }}\n"
        );
        let plan = plan("held", &text);
        let cause = |id| Cause {
            rank: 1,
            id,
            title: String::new(),
            confidence: 0.9,
            evidence: Vec::new(),
            remedy: String::new(),
            confirmed: false,
        };
        let named = [
            CauseId::NetRuleChain,
            CauseId::CpuSteal,
            CauseId::KernelLogFlood,
            CauseId::DiskFull,
            CauseId::MemoryOom,
            CauseId::ServiceSleeps,
        ];
        let causes = named.map(cause);
        let (found, untested) = intervention(&plan, &[], "r", &causes);
        let tested: Vec<CauseId> = found.unwrap().changes().map(|one| one.cause).collect();
        assert_eq!(tested, [CauseId::NetRuleChain, CauseId::MemoryOom]);
        let begins = [
            "cpu.steal has no intervention: the remedy is in the machine",
            "kernel.log_flood has the same intervention as net.rule_chain",
            "disk.full has no intervention: the experiment has nothing",
            "service.sleeps has no intervention: the remedy is in the program's own code; to test it by hand: see where",
        ];
        assert_eq!(untested.len(), begins.len(), "{untested:?}");
        for (sentence, begin) in untested.iter().zip(begins) {
            assert!(sentence.starts_with(begin), "{sentence}");
        }
    }
}
