//! Whether the probes changed what they measured.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::plan::{Plan, audit};
use plimsoll_model::report::Finding;
use plimsoll_model::verdict::{Outcome, Verdict};

/// The verdict on the probes, where they were varied and it was claimed that they do not matter, and they do.
fn changed(plan: &Plan, findings: &[Finding]) -> Option<(u32, Verdict)> {
    let number = audit::claim_number(&plan.experiment)?;
    let finding = findings.iter().find(|finding| finding.claim_number == Some(number))?;
    let Finding { verdict, .. } = finding;
    matches!(verdict.outcome, Outcome::Slower | Outcome::Faster).then(|| (number, verdict.clone()))
}

/// Where the probes changed the result, no other verdict holds.
pub(super) fn object(plan: &Plan, findings: &mut [Finding]) {
    let Some((number, changed)) = changed(plan, findings) else { return };
    for finding in findings.iter_mut().filter(|finding| finding.claim_number != Some(number)) {
        let reason = format!("the probes themselves changed the result: {}", changed.reason);
        finding.verdict.invalidate(reason);
    }
}

/// Where our own processes took CPUs that the worse side lacks, no difference is known to be the system's, and nothing else is named.
pub(super) fn object_to_own(causes: &mut Vec<Cause>, findings: &mut [Finding]) {
    let own = |cause: &Cause| cause.id == CauseId::ProbeEffect && !cause.confirmed;
    let Some(evidence) = causes.iter().find(|cause| own(cause)).and_then(|cause| cause.evidence.first())
    else {
        return;
    };
    let reason = format!(
        "Plimsoll's own processes took {:.2} CPUs on one side and {:.2} on the other",
        evidence.after, evidence.before
    );
    causes.retain(own);
    for finding in findings {
        if matches!(finding.verdict.outcome, Outcome::Slower | Outcome::Faster) {
            finding.verdict.invalidate(reason.as_str());
        }
    }
}

/// Change of the figure by the probes: how sure it is, and the figure with them relative to without.
pub(super) fn effect(plan: &Plan, findings: &[Finding]) -> Option<(f64, CauseEvidence)> {
    let (_, changed) = changed(plan, findings)?;
    let evidence = CauseEvidence {
        metric: format!("{} with probes, relative to without", changed.metric),
        before: 1.0,
        after: changed.estimate.unwrap_or(1.0),
        unit: "ratio".into(),
    };
    Some((changed.confidence, evidence))
}

#[cfg(test)]
mod tests {
    use plimsoll_explain::causes::{Known, named};
    use plimsoll_model::plan::Settings;

    use super::*;

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

    fn finding(number: u32, outcome: Outcome, reason: &str) -> Finding {
        let bare = Verdict::bare("difference", "bits_per_second", outcome, 9, reason);
        let verdict = Verdict { estimate: Some(0.8), confidence: 0.99, ..bare };
        Finding { claim_number: Some(number), ..Finding::bare(verdict) }
    }

    #[test]
    fn probes_that_change_the_result_make_every_other_verdict_invalid() {
        let settings = Settings { audit_probes: true, ..Settings::default() };
        let plan = Plan::read("test", TEXT, &settings).unwrap();
        let of = |outcome| {
            let mut findings = vec![
                finding(1, Outcome::Same, "by = splice against write: much the same"),
                finding(2, outcome, "probes = true against false: it is what it is"),
            ];
            object(&plan, &mut findings);
            findings
        };
        assert_eq!(of(Outcome::Same)[0].verdict.outcome, Outcome::Same);
        let findings = of(Outcome::Slower);
        let verdicts = [&findings[0].verdict, &findings[1].verdict];
        assert_eq!((verdicts[0].outcome, verdicts[1].outcome), (Outcome::Invalid, Outcome::Slower));
        assert!(verdicts[0].reason.contains("probes = true against false"), "{}", verdicts[0].reason);
        let causes = named(&Known { probes: effect(&plan, &findings), ..Known::default() });
        assert_eq!((causes[0].id, causes[0].evidence[0].after), (CauseId::ProbeEffect, 0.8));
    }
}
