//! Causes of all kinds in one order.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Known, by_functions, by_settings, definition};

/// How much surer a cause is that was recognised in two ways: the doubt that is left is this part of what it was.
const LEFT_DOUBT: f64 = 0.5;
/// From here on a cause that is named only where nothing else is stays beside what it causes itself, as a full listen queue.
const SURE_BESIDE: f64 = 0.9;
/// Causes that are named only where nothing else is clear, or beside others: these may follow from them.
const HINTS: [CauseId; 2] = [CauseId::ServiceOtherSettings, CauseId::NetSmallPackets];
/// How much less sure a cause is that explains a smaller part of the difference than a first one.
const OF_A_PART: f64 = 0.6;
/// Nothing that was only observed is surer.
const SUREST: f64 = 0.97;

/// The causes that match the observations, the likeliest first. Causes that an intervention confirmed come before observed ones.
pub fn named(known: &Known<'_>) -> Vec<Cause> {
    let mut causes = found(known, false);
    let is_alone = causes.is_empty();
    let others = found(known, true);
    let is_hint = |cause: &Cause| HINTS.contains(&cause.id);
    causes.extend(others.into_iter().filter(|it| is_alone || is_hint(it) || it.confidence >= SURE_BESIDE));
    if !is_alone {
        causes.extend(by_functions::computed_beside(known, &causes));
    }
    if causes.iter().any(|cause| !is_hint(cause)) {
        causes.extend(of_a_part(known, &causes));
        causes.extend(by_functions::other_parts(known, &causes));
    }
    by_settings::attach(known, &mut causes);
    ranked(causes)
}

fn found(known: &Known<'_>, is_last_resort: bool) -> Vec<Cause> {
    let definitions = CauseId::ALL.iter().map(|id| definition(*id));
    let definitions = definitions.filter(|it| it.is_last_resort == is_last_resort);
    definitions.flat_map(|definition| (definition.find)(known)).collect()
}

/// Causes that explain too small a part of the difference to be named alone, and stand beside others.
fn of_a_part(known: &Known<'_>, causes: &[Cause]) -> Vec<Cause> {
    let parts = found(&Known { is_beside: true, ..known.clone() }, false).into_iter();
    let parts = parts.filter(|part| causes.iter().all(|cause| cause.id != part.id));
    parts.map(|part| Cause { confidence: OF_A_PART * part.confidence, ..part }).collect()
}

fn ranked(found: Vec<Cause>) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    for cause in found {
        // What counters and packets both show is one cause; background loads each have their own title. What is confirmed needs no second guess.
        let known = causes.iter_mut().find(|known| {
            known.title == cause.title || known.id == cause.id && (known.confirmed || cause.confirmed)
        });
        match known {
            Some(known) => merge(known, cause),
            None => causes.push(cause),
        }
    }
    // What comes first in the catalogue stays first where both are as sure.
    causes.sort_by(|a, b| b.confirmed.cmp(&a.confirmed).then_with(|| b.confidence.total_cmp(&a.confidence)));
    (1..).zip(causes).map(|(rank, cause)| Cause { rank, ..cause }).collect()
}

/// Merges two findings of one cause: the surer one stays, with the evidence of both.
fn merge(known: &mut Cause, other: Cause) {
    let other_tells = (other.confirmed, other.confidence) > (known.confirmed, known.confidence);
    let (mut first, second) = if other_tells { (other, known.clone()) } else { (known.clone(), other) };
    if !first.confirmed {
        first.confidence = (1.0 - LEFT_DOUBT * (1.0 - first.confidence)).min(SUREST).max(first.confidence);
        for evidence in second.evidence {
            if !first.evidence.iter().any(|known| known.metric == evidence.metric) {
                first.evidence.push(evidence);
            }
        }
    }
    *known = first;
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cause::CauseEvidence;
    use proptest::prelude::*;

    use super::super::cause;
    use super::*;

    fn of(id: CauseId, confidence: f64, metric: &str, confirmed: bool) -> Cause {
        let evidence = CauseEvidence { metric: metric.into(), before: 0.0, after: 1.0, unit: String::new() };
        Cause { confirmed, ..cause(id, confidence, vec![evidence]) }
    }

    #[test]
    fn one_cause_by_two_ways_is_named_once_and_is_surer_than_by_either() {
        let id = CauseId::NetTimeWaitReuse;
        let causes = ranked(vec![of(id, 0.6, "counters", false), of(id, 0.8, "packets", false)]);
        assert_eq!((causes.len(), causes[0].evidence.len()), (1, 2));
        assert_eq!(causes[0].evidence[0].metric, "packets", "the surer one comes first");
        assert!(causes[0].confidence > 0.8 && causes[0].confidence < 1.0);
    }

    #[test]
    fn what_was_confirmed_comes_before_what_is_surer_and_needs_no_second_guess() {
        let (state, rules) = (CauseId::KernelStateGrows, CauseId::NetRuleChain);
        let causes = ranked(vec![
            of(rules, 0.95, "profile", false),
            of(state, 0.8, "a new host", true),
            of(state, 0.9, "counters", false),
        ]);
        let named: Vec<_> = causes.iter().map(|it| (it.rank, it.id, it.evidence.len())).collect();
        assert_eq!(named, [(1, state, 1), (2, rules, 1)]);
    }

    #[test]
    fn nothing_that_was_observed_is_no_cause() {
        assert!(named(&Known::default()).is_empty());
    }

    proptest! {
        #[test]
        fn each_title_is_named_once_and_ranks_follow_confidence(
            found in prop::collection::vec((0..CauseId::ALL.len(), 0.0..1.0_f64, any::<bool>()), 0..20),
        ) {
            let causes = ranked(found.iter().map(|(id, sure, confirmed)| of(CauseId::ALL[*id], *sure, "m", *confirmed)).collect());
            let mut titles: Vec<_> = causes.iter().map(|it| &it.title).collect();
            titles.sort();
            titles.dedup();
            prop_assert_eq!(titles.len(), causes.len());
            for pair in causes.windows(2) {
                prop_assert_eq!(pair[0].rank + 1, pair[1].rank);
                prop_assert!((pair[0].confirmed, pair[0].confidence) >= (pair[1].confirmed, pair[1].confidence));
            }
        }
    }
}
