//! The probes as an experiment: each cell with them and without.

use serde_json::Value;

use crate::experiment::{Claim, DifferenceClaim, DifferenceExpect, Experiment, Factor, Metric, Paths};

/// The setting that switches probes.
const SETTING: &str = "run.probes";
/// Name of the factor.
const NAME: &str = "probes";

/// Varies the probes beside all else, and claims that they do not matter.
pub(super) fn extend(experiment: &mut Experiment) {
    let name = match factor(experiment) {
        Some(name) => name.to_owned(),
        None => add_factor(experiment),
    };
    if claim(experiment).is_some() {
        return;
    }
    let Some((phase, metric)) = judged(experiment) else { return };
    let margin = DifferenceClaim::default_margin();
    let (factor, against, expect) = (Some(name), Default::default(), DifferenceExpect::Same);
    let difference = DifferenceClaim { phase, factor, against, margin, metric, expect };
    let claim = Claim::Difference(difference);
    experiment.claims.push(claim);
}

/// The factor that switches the probes, where there is one.
fn factor(experiment: &Experiment) -> Option<&str> {
    let switches = |factor: &Factor| factor.set.iter().eq([SETTING]);
    experiment.factors.iter().find(|(_, factor)| switches(factor)).map(|(name, _)| name.as_str())
}

/// The claim about the probes, where there is one.
fn claim(experiment: &Experiment) -> Option<(u32, &DifferenceClaim)> {
    let name = factor(experiment)?;
    let differences =
        (1..).zip(&experiment.claims).filter_map(|(number, claim)| Some((number, claim.difference()?)));
    differences.into_iter().find(|(_, difference)| difference.factor.as_deref() == Some(name))
}

/// The number of the claim about the probes, from 1, where there is one.
pub fn claim_number(experiment: &Experiment) -> Option<u32> {
    claim(experiment).map(|(number, _)| number)
}

fn add_factor(experiment: &mut Experiment) -> String {
    let name = if experiment.factors.contains_key(NAME) { SETTING } else { NAME };
    let levels = [false, true].map(Value::from);
    let factor = Factor { set: Paths::One(SETTING.to_owned()), levels: levels.to_vec() };
    experiment.factors.insert(name.to_owned(), factor);
    let each = |cell: &std::collections::BTreeMap<String, Value>| {
        levels.clone().map(|level| {
            let mut cell = cell.clone();
            cell.insert(name.to_owned(), level);
            cell
        })
    };
    experiment.cells = experiment.cells.iter().flat_map(each).collect();
    name.to_owned()
}

/// The phase and the figure that the experiment is about: those of its first claim, or the first phase that it measures.
fn judged(experiment: &Experiment) -> Option<(String, Metric)> {
    let of_claims = experiment.claims.iter().find_map(|claim| {
        let difference = claim.difference().map(|claim| (&claim.phase, claim.metric));
        let interaction = claim.interaction().map(|claim| (&claim.phase, claim.metric));
        let recovery = claim.recovery().map(|claim| (&claim.baseline, claim.metric));
        let hysteresis = claim.hysteresis().map(|claim| (&claim.phase, claim.metric));
        difference.or(interaction).or(recovery).or(hysteresis)
    });
    let phase = match of_claims {
        // Without probes, stalls remain unseen.
        Some((phase, Metric::StallShare)) => phase.as_str(),
        Some((phase, metric)) => return Some((phase.clone(), metric)),
        None => experiment.all_phases().find(|phase| phase.measured_load().is_some())?.name.as_str(),
    };
    Some((phase.to_owned(), experiment.usual_metric(phase)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Settings};

    const TEXT: &str = r#"
question = "which?"
[hosts.a]
[services.sink]
on = "a"
bulk = {}
[loads.stream]
from = "a"
to = "sink"
bulk = { total = "1M" }
[[phases]]
name = "all"
measure = "stream"
[capture]
"#;

    fn plan(text: &str) -> Plan {
        let settings = Settings { audit_probes: true, ..Settings::default() };
        Plan::read("test", text, &settings).unwrap()
    }

    #[test]
    fn each_cell_is_carried_out_with_probes_and_without() {
        let plan = plan(TEXT);
        let probes: Vec<bool> = plan.cells.iter().map(|cell| cell.experiment.run.probes).collect();
        assert_eq!(probes, [false, true]);
        let (_, claim) = claim(&plan.experiment).expect("it is judged");
        assert_eq!((claim.phase.as_str(), claim.metric), ("all", Metric::BitsPerSecond));
    }

    #[test]
    fn cells_that_are_named_are_doubled_and_stalls_are_not_the_measure() {
        let text = format!(
            "{TEXT}[factors.by]\nset = \"loads.stream.bulk.by\"\nlevels = [\"write\", \"splice\"]\n[[cells]]\nby = \"write\"\n\
             [[claims]]\ndifference = {{ phase = \"all\", factor = \"by\", metric = \"stall_share\" }}\n"
        );
        let plan = plan(&text);
        assert_eq!(plan.cells.len(), 2);
        assert!(plan.cells.iter().all(|cell| cell.levels["by"] == "write"));
        assert_eq!(claim(&plan.experiment).unwrap().1.metric, Metric::BitsPerSecond);
    }

    #[test]
    fn an_experiment_that_varies_its_probes_already_is_left_alone() {
        let text = format!(
            "{TEXT}[factors.seen]\nset = \"run.probes\"\nlevels = [false, true]\n[[claims]]\n\
             difference = {{ phase = \"all\", factor = \"seen\", metric = \"bits_per_second\" }}\n"
        );
        let plan = plan(&text);
        assert_eq!((plan.cells.len(), plan.experiment.claims.len()), (2, 1));
    }
}
