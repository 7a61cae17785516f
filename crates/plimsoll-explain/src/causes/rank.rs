//! Causes of all kinds in one order.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Known, by_functions, by_opens, by_settings, definition};

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
    if known.is_no_slower() {
        return Vec::new();
    }
    let mut causes = found(known, false);
    let is_alone = causes.is_empty();
    let others = found(known, true);
    let is_hint = |cause: &Cause| HINTS.contains(&cause.id);
    causes.extend(others.into_iter().filter(|it| is_alone || is_hint(it) || it.confidence >= SURE_BESIDE));
    if causes.iter().any(|cause| !is_hint(cause)) {
        causes.extend(by_functions::computed_beside(known, &causes));
        causes.extend(of_a_part(known, &causes));
        causes.extend(by_functions::other_parts(known, &causes));
    }
    drop_said_by_threads(&mut causes);
    by_settings::attach(known, &mut causes);
    by_opens::attach(known, &mut causes);
    ranked(causes)
}

/// What one thread computes is its program's computing as well, which needs no second cause.
fn drop_said_by_threads(causes: &mut Vec<Cause>) {
    let what = |cause: &Cause| cause.title.split_once(": ").map(|(_, what)| what.to_owned());
    let of_threads = causes.iter().filter(|cause| cause.id == CauseId::CpuSingleThread).filter_map(what);
    let of_threads: Vec<String> = of_threads.collect();
    causes.retain(|cause| {
        cause.id != CauseId::CpuUserSaturated || what(cause).is_none_or(|what| !of_threads.contains(&what))
    });
}

fn found(known: &Known<'_>, is_last_resort: bool) -> Vec<Cause> {
    let definitions = CauseId::ALL.iter().map(|id| definition(*id));
    let definitions = definitions.filter(|it| it.is_last_resort == is_last_resort);
    definitions.flat_map(|definition| (definition.find)(known)).collect()
}

/// Causes that explain too small a part of the difference to be named alone, and stand beside others.
fn of_a_part(known: &Known<'_>, causes: &[Cause]) -> Vec<Cause> {
    let beside = Known { is_beside: true, ..known.clone() };
    let sure = found(&beside, true).into_iter().filter(|part| part.confidence >= SURE_BESIDE);
    let parts = found(&beside, false).into_iter().chain(sure);
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
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use plimsoll_model::cause::CauseEvidence;
    use plimsoll_model::observation::{FrameKind, TracedCall, WaitSite};
    use plimsoll_model::report::{Evidence, ProfileReport};
    use proptest::prelude::*;

    use super::super::cause;
    use super::super::fixture::{asleep, calls, failing, grew, profile, relay, wait};
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
    fn what_one_thread_computes_is_named_once() {
        let of = |id, title: &str| Cause { title: title.into(), ..of(id, 0.7, "CPU time", false) };
        let thread = of(CauseId::CpuSingleThread, "A single thread uses up a CPU: `scan` of `db`");
        let same = of(CauseId::CpuUserSaturated, "A program uses up the CPUs: `scan` of `db`");
        let other = of(CauseId::CpuUserSaturated, "A program uses up the CPUs: `match` of `zstd`");
        let mut causes = vec![thread.clone(), same, other.clone()];
        drop_said_by_threads(&mut causes);
        assert_eq!(causes, [thread, other]);
    }

    #[test]
    fn nothing_that_was_observed_is_no_cause() {
        assert!(named(&Known::default()).is_empty());
    }

    /// Counters and levels that stand in the sources of causes.
    fn metrics() -> BTreeSet<String> {
        let sources = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/causes")).unwrap();
        let files = sources.map(|source| source.unwrap().path()).filter(|path| path.is_file());
        let texts = files.map(|file| fs::read_to_string(file).unwrap());
        let literals = texts.flat_map(|text| {
            let code = text.split("mod tests {").next().unwrap_or_default();
            code.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
        });
        let is_metric = |it: &String| {
            it.contains('.') && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'.' || it == b'_')
        };
        literals.filter(is_metric).collect()
    }

    #[test]
    fn figures_that_fell_name_no_cause() {
        let of = |before, after| {
            let figure = |(metric, host): (String, &str)| {
                grew(host, &format!("{metric} (per operation)"), before, after)
            };
            let hosts = ["relay", "machine"].into_iter();
            let figures = hosts.flat_map(|host| metrics().into_iter().zip(std::iter::repeat(host)));
            let evidence: Vec<Evidence> = figures.map(figure).collect();
            let known = Known { evidence: &evidence, measured: relay(), ..Known::default() };
            named(&known).iter().map(|cause| cause.id).collect::<BTreeSet<_>>()
        };
        assert!(of(1.0, 1e6).len() >= 10, "{:?}", of(1.0, 1e6));
        assert_eq!(of(1e6, 1.0), BTreeSet::new());
    }

    #[test]
    fn nothing_explains_what_took_no_longer() {
        let counted = |name: &str| grew("relay", &format!("netstat.TcpExt.{name}"), 0.0, 0.2);
        let overflows = ["ListenOverflows", "TCPSynRetrans"].map(counted);
        let waits = [
            asleep("jbd2_log_wait_commit", "fsync"),
            asleep("hrtimer_nanosleep", "clock_nanosleep"),
            asleep("flock_lock_inode_wait", "flock"),
            asleep("sk_wait_data", "recvfrom"),
            WaitSite::Cpu,
        ];
        let of_wait = |site: WaitSite| {
            let waits = vec![wait("relay", site.clone(), crate::seen::wait_for(&site))];
            ProfileReport { waits, ..profile() }
        };
        let killed = [calls(TracedCall::OomKill, FrameKind::Host, "relay")];
        let mut profiles: Vec<ProfileReport> = waits.into_iter().map(of_wait).collect();
        profiles.push(failing("relay", "accept4", "EMFILE"));
        profiles.push(ProfileReport { calls: killed.to_vec(), ..profile() });
        let of = |profile, took_us| {
            let took_us = Some(took_us);
            let known =
                Known { profile, took_us, evidence: &overflows, measured: relay(), ..Known::default() };
            named(&known).len()
        };
        for profile in profiles.iter().map(Some).chain([None]) {
            assert!(of(profile, (500.0, 3500.0)) > 0, "{profile:?}");
            assert_eq!(of(profile, (3500.0, 3400.0)), 0);
        }
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
