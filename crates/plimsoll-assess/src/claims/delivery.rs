//! The delivery claim: whether all mail that was acknowledged arrived.

use plimsoll_model::experiment::claim::delivery::{DeliveryClaim, DeliveryDetails};
use plimsoll_model::observation::MailBalance;

use crate::claims::prelude::*;

impl ClaimKind for DeliveryClaim {
    /// One finding for each cell. A single message that is lost decides it, whatever else was measured; that none was, only a trial that came to
    /// its end.
    fn judge(&self, plan: &Plan, trials: &[TrialRecord]) -> Vec<Finding> {
        plan.cells.iter().map(|cell| finding(&cell.levels, self, trials)).collect()
    }
}

/// The metric of the claim.
const METRIC: &str = "messages";

fn finding(levels: &BTreeMap<String, String>, claim: &DeliveryClaim, trials: &[TrialRecord]) -> Finding {
    let of_cell: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.cell == *levels).collect();
    let balances: Vec<&MailBalance> = of_cell
        .iter()
        .filter(|trial| trial.faults.is_empty())
        .flat_map(|trial| &trial.mail)
        .filter(|balance| balance.sink == claim.sink)
        .collect();
    let details = added(claim, levels, &balances);
    let mut verdict = verdict(claim, &details, &balances);
    if verdict.outcome == Outcome::Undecided
        && let Some(reason) = soundness::objection_to_load(&of_cell)
    {
        verdict = Verdict::bare("delivery", METRIC, Outcome::Invalid, 0, reason);
    }
    verdict.reason = prefix(levels) + &verdict.reason;
    Finding::new(verdict, details)
}

/// The balances of all trials added up.
fn added(
    claim: &DeliveryClaim,
    levels: &BTreeMap<String, String>,
    balances: &[&MailBalance],
) -> DeliveryDetails {
    let sum = |of: fn(&MailBalance) -> u64| balances.iter().map(|balance| of(balance)).sum::<u64>();
    DeliveryDetails {
        sink: claim.sink.clone(),
        cell: levels.clone(),
        acknowledged: sum(|balance| balance.acknowledged),
        arrived: sum(|balance| balance.arrived),
        lost: sum(|balance| balance.lost),
        doubled: sum(|balance| balance.doubled),
        corrupted: sum(|balance| balance.corrupted),
    }
}

fn verdict(claim: &DeliveryClaim, details: &DeliveryDetails, balances: &[&MailBalance]) -> Verdict {
    let DeliveryDetails { acknowledged, arrived, lost, doubled, corrupted, .. } = *details;
    let counts = format!(
        "of {acknowledged} acknowledged messages {arrived} arrived: {lost} lost, {doubled} doubled, {corrupted} corrupted"
    );
    let (outcome, reason) = if acknowledged == 0 {
        (Outcome::Undecided, "no message was acknowledged yet".to_owned())
    } else if lost > 0 || corrupted > 0 || doubled > 0 && !claim.doubles {
        let first = balances.iter().flat_map(|balance| &balance.lost_ids).next();
        let example = first.map_or_else(String::new, |id| {
            format!("; {id}, for example, did not arrive within {}", claim.within)
        });
        (Outcome::NotDelivered, format!("{counts}{example}"))
    } else {
        (Outcome::Delivered, counts)
    };
    let estimate = (acknowledged > 0).then(|| arrived as f64 / acknowledged as f64);
    Verdict { estimate, ..Verdict::bare("delivery", METRIC, outcome, balances.len(), reason) }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::Arm;

    use super::*;

    fn balance(lost: u64, doubled: u64, corrupted: u64) -> MailBalance {
        MailBalance {
            sink: "sink".into(),
            arm: Arm::Treatment,
            acknowledged: 100,
            arrived: 100 - lost,
            lost,
            doubled,
            corrupted,
            unacknowledged: 0,
            waited_ms: 5,
            lost_ids: (0..lost).map(|id| format!("{id:016x}")).collect(),
        }
    }

    fn outcome(balances: &[MailBalance], doubles: bool) -> Verdict {
        let claim: DeliveryClaim =
            serde_json::from_value(serde_json::json!({ "sink": "sink", "doubles": doubles })).unwrap();
        let balances: Vec<&MailBalance> = balances.iter().collect();
        verdict(&claim, &added(&claim, &BTreeMap::new(), &balances), &balances)
    }

    #[test]
    fn one_message_that_is_lost_or_spoiled_decides_it() {
        let even = balance(0, 0, 0);
        assert_eq!(outcome(&[even.clone(), even.clone()], true).outcome, Outcome::Delivered);
        let lost = outcome(&[even.clone(), balance(1, 0, 0)], true);
        assert_eq!((lost.outcome, lost.estimate), (Outcome::NotDelivered, Some(0.995)));
        assert!(lost.reason.contains("0000000000000000, for example"), "{}", lost.reason);
        assert_eq!(outcome(&[balance(0, 0, 1)], true).outcome, Outcome::NotDelivered);
        assert_eq!(outcome(&[], true).outcome, Outcome::Undecided);
    }

    #[test]
    fn doubles_count_where_the_claim_says_so() {
        assert_eq!(outcome(&[balance(0, 3, 0)], true).outcome, Outcome::Delivered);
        assert_eq!(outcome(&[balance(0, 3, 0)], false).outcome, Outcome::NotDelivered);
    }
}
