//! `generator.saturated`: The load generator cannot keep up, so the figure measures the generator instead of the system.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::{GrownThrottling, GrownWait, WaitFor};

use super::{Definition, Known, Page, by_counters, by_seen, cause, changes, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a CPU quota throttles the control group of the load's host. Or the generator's threads use nearly a whole CPU and also wait for one",
        evidence_against: "the generator's threads sleep most of the time. The service waits for CPUs as much",
        test: "give the generator more CPUs, more `generators`, or its own host, and measure again: the figure rises",
        remedy: "remove the limit on the generator's host, use more generators or hosts, or request a lower rate",
    },
    find,
)
.confirmed_by(|experiment| {
    changes::out_of_groups("without a CPU quota for the loads' hosts", "cpu", changes::of_loads(experiment))
});

const ID: CauseId = CauseId::GeneratorSaturated;
/// Threads that are busy for so much of the time have none left, in per cent.
const BUSY: f64 = 85.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let Some((host, process)) = &known.measured.load else { return Vec::new() };
    let is_own = |it: &&GrownWait| it.who.owner == *host && it.who.process == *process;
    let waits = by_seen::waits(known, WaitFor::Cpu);
    let waits: Vec<&GrownWait> = waits.into_iter().filter(is_own).collect();
    let stopped = by_seen::stopped(known).into_iter().find(|it| of_the_load(known, it));
    let busy = by_counters::raised("generator.busy_share", known.evidence).filter(|it| it.after >= BUSY);
    let (sure, first): (f64, Vec<CauseEvidence>) = match (stopped, busy) {
        (Some(group), _) => (0.92, by_seen::throttling_evidence(known, group)),
        (None, Some(busy)) if !waits.is_empty() => (0.8, vec![quoted(busy)]),
        _ => return Vec::new(),
    };
    vec![cause(ID, sure, first.into_iter().chain(by_seen::wait_evidence(known, &waits)).collect())]
}

/// Whether a group is on the host of the load alone: one that stops what is measured as well is no generator's.
pub(super) fn of_the_load(known: &Known<'_>, group: &GrownThrottling) -> bool {
    let of_load = known.measured.load.as_ref().is_some_and(|(host, _)| *host == group.host);
    let stops_service = by_seen::stopped(known)
        .iter()
        .any(|it| it.group == group.group && known.measured.hosts.contains(&it.host));
    of_load && !stops_service
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::WaitSite;
    use plimsoll_model::report::{Evidence, ProfileReport};

    use super::super::fixture::{grew, profile, relay, wait};
    use super::super::named;
    use super::*;

    fn stopped(host: &str) -> ProfileReport {
        let (group, before_share, before_us) = ("/held".into(), 0.0, 0.0);
        let throttling = GrownThrottling {
            host: host.into(),
            group,
            before_share,
            after_share: 0.9,
            before_us,
            after_us: 900.0,
        };
        ProfileReport { throttling: vec![throttling], ..profile() }
    }

    fn ids(profile: &ProfileReport, evidence: &[Evidence]) -> Vec<CauseId> {
        let known = Known { profile: Some(profile), measured: relay(), evidence, ..Known::default() };
        named(&known).iter().map(|cause| cause.id).collect()
    }

    #[test]
    fn a_quota_on_the_host_of_the_load_is_the_generators_and_one_on_the_services_is_not() {
        assert_eq!(ids(&stopped("client"), &[]), [ID]);
        assert_eq!(ids(&stopped("relay"), &[]), [CauseId::CpuQuotaThrottled]);
        let throttling = [stopped("client"), stopped("relay")].map(|of| of.throttling).concat();
        let both = ProfileReport { throttling, ..profile() };
        assert_eq!(ids(&both, &[]), [CauseId::CpuQuotaThrottled]);
    }

    #[test]
    fn a_generator_that_is_always_busy_is_named_where_it_waits_for_a_cpu_as_well() {
        let busy = [grew("client", "generator.busy_share (level)", 40.0, 97.0)];
        let mut waiting = wait("plimsoll", WaitSite::Cpu, WaitFor::Cpu);
        waiting.who.owner = "client".into();
        let waits = ProfileReport { waits: vec![waiting], ..profile() };
        assert_eq!(ids(&waits, &busy), [ID]);
        assert!(ids(&profile(), &busy).is_empty() && ids(&waits, &[]).is_empty());
    }
}
