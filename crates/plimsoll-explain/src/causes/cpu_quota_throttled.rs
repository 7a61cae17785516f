//! `cpu.quota_throttled`: A control group has used its CPU quota and is stopped until the next period.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::report::WaitFor;

use super::{Definition, Known, Page, by_levels, by_seen, cause, changes, generator_saturated, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel counts periods in which it throttled the service's control group (nr_throttled in cpu.stat). The group was throttled for much of the time",
        evidence_against: "the group has no quota, or was hardly ever throttled",
        test: "remove the quota (cpu.max, cpu.cfs_quota_us) and measure again",
        remedy: "raise the quota of the control group, spread the work over time, or use fewer threads at once",
    },
    find,
)
.confirmed_by(|experiment| {
    changes::out_of_groups("without a CPU quota for the services' hosts", "cpu", changes::of_services(experiment))
});

/// What the share of a group's stopped periods begins with, and ends with; and the least that counts, in per cent.
const OF_GROUPS: (&str, &str) = ("machine.group.", ".throttled_share");
const LEAST_SHARE: f64 = 20.0;

/// A group whose own file counts the periods in which its quota stopped it.
fn by_tools(known: &Known<'_>) -> Option<Cause> {
    let stopped = by_levels::any_above(OF_GROUPS, LEAST_SHARE, known.evidence)?;
    let group = by_levels::name(stopped).strip_prefix(OF_GROUPS.0)?.strip_suffix(OF_GROUPS.1)?;
    let id = CauseId::CpuQuotaThrottled;
    Some(Cause { title: format!("{}: `{group}`", id.title()), ..cause(id, 0.8, vec![quoted(stopped)]) })
}

fn find(known: &Known<'_>) -> Vec<Cause> {
    let stopped = by_seen::stopped(known);
    // What holds the generator back stops no service.
    let first = stopped.into_iter().find(|it| !generator_saturated::of_the_load(known, it));
    let Some(first) = first else { return by_tools(known).into_iter().collect() };
    let waits = by_seen::wait_evidence(known, &by_seen::waits(known, WaitFor::Cpu));
    let evidence = by_seen::throttling_evidence(known, first).into_iter().chain(waits).collect();
    vec![cause(CauseId::CpuQuotaThrottled, 0.9, evidence)]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{GrownThrottling, ProfileReport};

    use super::super::fixture::{grew, ids, profile};
    use super::super::named;
    use super::*;

    #[test]
    fn a_group_that_is_stopped_in_most_of_its_periods_is_named() {
        let of = |after_share: f64| {
            let (host, group) = ("server".into(), "/limited".into());
            let (before_share, before_us, after_us) = (0.0, 0.0, 4000.0);
            let stopped = GrownThrottling { host, group, before_share, after_share, before_us, after_us };
            let profile = ProfileReport { throttling: vec![stopped], ..profile() };
            named(&Known { profile: Some(&profile), ..Known::default() })
        };
        let causes = of(0.8);
        assert_eq!(causes[0].id, CauseId::CpuQuotaThrottled);
        assert_eq!(causes[0].evidence[0].metric, "throttled periods of /limited on server");
        assert!(of(0.05).is_empty());
    }
    #[test]
    fn a_file_of_a_group_names_it() {
        let share = |after| grew("machine", "machine.group./job.throttled_share (level)", 0.0, after);
        assert_eq!(ids(&[share(91.0)]), [CauseId::CpuQuotaThrottled]);
        assert!(ids(&[share(9.0)]).is_empty());
    }
}
