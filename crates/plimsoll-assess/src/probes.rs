//! Whether the probes changed what they measured.

use plimsoll_explain::causes::page;
use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::plan::{Plan, audit};
use plimsoll_model::verdict::{Outcome, Verdict};

use super::contrast;

/// The verdict on the probes, where they were varied and it was claimed that they do not matter.
fn verdict_on<'v>(plan: &Plan, verdicts: &'v [Verdict]) -> Option<&'v Verdict> {
    let claim = audit::claim(&plan.experiment)?;
    let factor = claim.factor.as_deref()?;
    let about = contrast::against_first(plan, factor);
    verdicts.iter().find(|verdict| {
        verdict.claim == "difference" && about.iter().any(|what| verdict.reason.starts_with(what))
    })
}

fn changed(plan: &Plan, verdicts: &[Verdict]) -> Option<Verdict> {
    let verdict = verdict_on(plan, verdicts)?;
    matches!(verdict.outcome, Outcome::Slower | Outcome::Faster).then(|| verdict.clone())
}

/// Where the probes changed the result, no other verdict holds.
pub(super) fn object(plan: &Plan, verdicts: &mut [Verdict]) {
    let Some(changed) = changed(plan, verdicts) else { return };
    for verdict in verdicts.iter_mut().filter(|verdict| **verdict != changed) {
        let reason = format!("the probes themselves changed the result: {}", changed.reason);
        verdict.invalidate(reason);
    }
}

/// The probes as a cause.
pub(super) fn causes(plan: &Plan, verdicts: &[Verdict]) -> Vec<Cause> {
    let Some(changed) = changed(plan, verdicts) else { return Vec::new() };
    let id = CauseId::ProbeEffect;
    let evidence = CauseEvidence {
        metric: format!("{} with probes, relative to without", changed.metric),
        before: 1.0,
        after: changed.estimate.unwrap_or(1.0),
        unit: "ratio".into(),
    };
    let (title, remedy) = (id.title().to_owned(), page(id).remedy.to_owned());
    // Switching them off is the intervention that confirms it.
    vec![Cause {
        rank: 1,
        id,
        title,
        confidence: changed.confidence,
        evidence: vec![evidence],
        remedy,
        confirmed: true,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::plan::Settings;

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
[factors.by]
set = "loads.stream.bulk.by"
levels = ["write", "splice"]
[[claims]]
difference = { phase = "all", factor = "by", metric = "bits_per_second" }
"#;

    fn verdict(outcome: Outcome, reason: &str) -> Verdict {
        let bare = Verdict::bare("difference", "bits_per_second", outcome, 9, reason);
        Verdict { estimate: Some(0.8), confidence: 0.99, ..bare }
    }

    #[test]
    fn probes_that_change_the_result_make_every_other_verdict_invalid() {
        let settings = Settings { audit_probes: true, ..Settings::default() };
        let plan = Plan::read("test", TEXT, &settings).unwrap();
        let of = |outcome| {
            let mut verdicts = vec![
                verdict(Outcome::Same, "by = splice against write: much the same"),
                verdict(outcome, "probes = true against false: it is what it is"),
            ];
            object(&plan, &mut verdicts);
            verdicts
        };
        assert_eq!(of(Outcome::Same)[0].outcome, Outcome::Same);
        let verdicts = of(Outcome::Slower);
        assert_eq!((verdicts[0].outcome, verdicts[1].outcome), (Outcome::Invalid, Outcome::Slower));
        assert!(verdicts[0].reason.contains("probes = true against false"), "{}", verdicts[0].reason);
        let causes = causes(&plan, &verdicts);
        assert_eq!((causes[0].id, causes[0].evidence[0].after), (CauseId::ProbeEffect, 0.8));
    }
}
