//! What each claim says, in words: with what is expected, so that a reader knows when it holds.

use plimsoll_model::experiment::{
    BoundClaim, BoundExpect, Claim, DeliveryClaim, DeliveryExpect, DifferenceClaim, DifferenceExpect,
    InteractionClaim, InteractionExpect, LimitClaim, ModesClaim, ModesExpect, PathExpect, RecoveryClaim,
    RecoveryExpect, SearchClaim, SearchExpect,
};

/// A claim in a sentence.
pub(super) fn wording(claim: &Claim) -> String {
    match claim {
        Claim::Recovery(claim) => recovery(claim),
        Claim::Difference(claim) => difference(claim),
        Claim::Interaction(claim) => interaction(claim),
        Claim::Modes(claim) => modes(claim),
        Claim::Delivery(claim) => delivery(claim),
        Claim::Source(source) => {
            format!("what is read in {} comes from memory, or from the device", source.phase)
        }
        Claim::Winner(winner) => {
            let (factor, phases, metric) = (&winner.factor, winner.phases.join(", "), winner.metric.name());
            format!("one {factor} is the best in {phases}, by {metric}")
        }
        Claim::Hysteresis(hysteresis) => {
            let does = match hysteresis.expect {
                RecoveryExpect::Recovered => "takes the same way down the load as up, within",
                RecoveryExpect::NotRecovered => "comes down the load another way than up, by more than",
            };
            format!("{} in {} {does} {}", hysteresis.metric.name(), hysteresis.phase, hysteresis.margin)
        }
        Claim::LoadCurve(curve) => {
            format!("the CPUs of {} behave in {} as a queue that theory knows", curve.host, curve.phase)
        }
        Claim::LossCurve(curve) => {
            format!("TCP in {} follows the formulas over {}", curve.phase, curve.over.join(" and "))
        }
        Claim::Diagnose(diagnose) => {
            let is = match diagnose.expect {
                PathExpect::Reached => "is",
                PathExpect::NotReached => "is not",
            };
            format!("the path of {} {is} good enough for TCP as its load wants it", diagnose.phase)
        }
        Claim::Knee(knee) => {
            format!("datagrams of {} are lost from a rate on, over {}", knee.phase, knee.over.join(" and "))
        }
        Claim::Hops(hops) => {
            format!("the hops that {} probes can be told apart, each rate within {}", hops.phase, hops.within)
        }
        Claim::Growth(growth) => {
            let over = growth.over.join(" and ");
            format!("how the time of {} grows with the number of workers, over {over}", growth.phase)
        }
        Claim::Limit(LimitClaim::Search(claim)) => search(claim),
        Claim::Limit(LimitClaim::Bound(claim)) => bound(claim),
    }
}

fn recovery(claim: &RecoveryClaim) -> String {
    let (metric, baseline, after, margin) =
        (claim.metric.name(), &claim.baseline, &claim.after, claim.margin);
    match claim.expect {
        RecoveryExpect::Recovered => {
            format!("{metric} comes back in {after} to what it was in {baseline}: less than {margin} worse")
        }
        RecoveryExpect::NotRecovered => {
            format!(
                "{metric} does not come back in {after} to what it was in {baseline}: more than {margin} worse"
            )
        }
    }
}

fn difference(claim: &DifferenceClaim) -> String {
    let (metric, phase, margin) = (claim.metric.name(), &claim.phase, claim.margin);
    let against = match &claim.factor {
        Some(factor) => format!("at every other level of {factor} against the first"),
        None => "in every other cell against the one that is named".to_owned(),
    };
    match claim.expect {
        DifferenceExpect::NotSlower => {
            format!("{metric} in {phase} is not worse, {against}: better, or worse by less than {margin}")
        }
        DifferenceExpect::Same => {
            format!("{metric} in {phase} is the same, {against}: neither better nor worse by {margin}")
        }
        DifferenceExpect::Faster => format!("{metric} in {phase} is better, {against}"),
        DifferenceExpect::Slower => format!("{metric} in {phase} is worse, {against}"),
        DifferenceExpect::Any => {
            format!(
                "{metric} in {phase} is better, worse or the same (within {margin}), {against}: whichever it is"
            )
        }
    }
}

fn interaction(claim: &InteractionClaim) -> String {
    let (metric, phase, margin) = (claim.metric.name(), &claim.phase, claim.margin);
    let factors = claim.factors.join(" and ");
    match claim.expect {
        InteractionExpect::Additive => {
            format!("{metric} in {phase}: {factors} do not act on each other, within {margin}")
        }
        InteractionExpect::Interaction => {
            format!("{metric} in {phase}: {factors} act on each other")
        }
        InteractionExpect::Any => {
            format!(
                "{metric} in {phase}: {factors} act on each other, or do not (within {margin}): whichever it is"
            )
        }
    }
}

fn modes(claim: &ModesClaim) -> String {
    let (metric, phase) = (claim.metric.name(), &claim.phase);
    match claim.expect {
        ModesExpect::OneMode => format!("{metric} in {phase} gathers in one place"),
        ModesExpect::SeveralModes => format!("{metric} in {phase} gathers in two places or more"),
        ModesExpect::Any => {
            format!("{metric} in {phase} gathers in one place, or in several: whichever it is")
        }
    }
}

fn delivery(claim: &DeliveryClaim) -> String {
    let (sink, within) = (&claim.sink, claim.within);
    match claim.expect {
        DeliveryExpect::Delivered => {
            format!(
                "all mail that is acknowledged arrives whole at {sink} within {within} after the last phase"
            )
        }
        DeliveryExpect::NotDelivered => {
            format!(
                "some mail that is acknowledged does not arrive whole at {sink} within {within} after the last phase"
            )
        }
    }
}

fn search(claim: &SearchClaim) -> String {
    let bound =
        format!("{} of requests are answered within {}, in {}", claim.share, claim.at_most, claim.phase);
    match (claim.at_least, claim.expect) {
        (None, _) => format!("the highest rate at which {bound}, is found"),
        (Some(rate), SearchExpect::Reached) => format!("at {rate} requests/s {bound}"),
        (Some(rate), SearchExpect::NotReached) => format!("it is not so that at {rate} requests/s {bound}"),
    }
}

fn bound(claim: &BoundClaim) -> String {
    let lies = match claim.expect {
        BoundExpect::Held => "lies",
        BoundExpect::NotHeld => "does not lie",
    };
    format!("{} in {} {lies} {} {}", claim.metric.name(), claim.phase, claim.side.name(), claim.bound)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::plan::{Plan, Settings};

    use super::*;

    const TEXT: &str = r#"
question = "which?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.some]
from = "a"
to = "web"
http = { connections = 10 }
[factors.clients]
set = "services.web.web.clients"
levels = [1, 2]
[[phases]]
name = "all"
measure = "some"
[[claims]]
"#;

    fn words(claim: &str) -> String {
        let plan = Plan::read("test", &format!("{TEXT}{claim}\n"), &Settings::default()).unwrap();
        wording(&plan.experiment.claims[0])
    }

    #[test]
    fn each_expectation_has_words_of_its_own() {
        let difference =
            |more: &str| words(&format!("difference = {{ phase = \"all\", factor = \"clients\"{more} }}"));
        let default = "connections_per_second in all is not worse, at every other level of clients against the first: \
                       better, or worse by less than 2 %";
        assert_eq!(difference(""), default);
        let all = ["not_slower", "same", "faster", "slower", "any"];
        let told: std::collections::BTreeSet<String> =
            all.iter().map(|expect| difference(&format!(", expect = \"{expect}\""))).collect();
        assert_eq!(told.len(), all.len(), "{told:?}");
    }

    #[test]
    fn a_bound_is_told_as_the_file_has_it() {
        let told = words(r#"limit = { metric = "p99_ms", below = "50ms" }"#);
        assert_eq!(told, "p99_ms in all lies below 50ms");
    }
}
