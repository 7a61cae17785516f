//! `cpu.contended`: Other processes use the CPUs that the measured processes wait for.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::WaitFor;

use super::{Definition, Known, Page, When, by_counters, by_hand, by_seen, cause, quoted};

pub(super) const DEFINITION: Definition = Definition {
    page: Page {
        evidence_for: "unmeasured processes used more CPU time, and measured ones waited longer for a CPU (run delay, PSI)",
        evidence_against: "the service itself uses the additional CPU time. Threads never wait for a CPU. The loss far exceeds the CPU time of other processes",
        test: "stop the named process, or give it CPUs of its own (cpusets, `run.cpus`), and measure again",
        remedy: "move the other process to another machine or other CPUs, or lower its weight (nice, cpu.weight)",
    },
    when: When::Always,
    find,
    change: by_hand,
};

const ID: CauseId = CauseId::CpuContended;
/// A program that loses a part of a CPU to others does about that part less, and still less where requests queue. A
/// loss of more than this many times that part has another reason. This is a rule of thumb, and not measured.
const MOST_TAKEN: f64 = 3.0;
/// How sure it is that they hold the figure down where more is lost than they can have taken.
const BESIDE: f64 = 0.5;
/// Time in which some task waited for a CPU.
const PRESSURE: &str = "machine.pressure.cpu.some";

fn find(known: &Known<'_>) -> Vec<Cause> {
    let foreign = by_seen::foreign_cpu_use(known);
    let Some(first) = foreign.first() else { return Vec::new() };
    let waited = by_seen::waits(known, WaitFor::Cpu);
    let pressure: Vec<CauseEvidence> =
        by_counters::grown(PRESSURE, known.evidence).map(quoted).into_iter().collect();
    if waited.is_empty() && pressure.is_empty() {
        return Vec::new();
    }
    let taken: f64 = foreign.iter().map(|it| (it.after_cpus - it.before_cpus).max(0.0)).sum();
    let sure = match known.lost {
        Some(lost) if lost > MOST_TAKEN * taken => BESIDE,
        _ if waited.is_empty() => 0.7,
        _ => 0.85,
    };
    let mut evidence = by_seen::told_cpu_use(&foreign);
    evidence.extend(by_seen::told_waits(known, &waited));
    evidence.extend(pressure);
    let title = format!("{}: `{}` on {}", ID.title(), first.who.process, first.who.owner);
    vec![Cause { title, ..cause(ID, sure, evidence) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{FrameKind, WaitSite};
    use plimsoll_model::report::{GrownCpuUse, ProfileReport};

    use super::super::fixture::{profile, relay, wait, who};
    use super::super::named;
    use super::*;

    fn busy(process: &str) -> GrownCpuUse {
        GrownCpuUse { who: who(FrameKind::Host, process), before_cpus: 0.0, after_cpus: 1.5 }
    }

    #[test]
    fn whoever_takes_the_cpus_that_the_service_waits_for_is_named() {
        let waits = vec![wait("relay", WaitSite::Cpu, WaitFor::Cpu)];
        let of = |process: &str, waits| {
            let profile = ProfileReport { cpu_use: vec![busy(process)], waits, ..profile() };
            named(&Known { profile: Some(&profile), measured: relay(), ..Known::default() })
        };
        let causes = of("sh", waits.clone());
        assert_eq!((causes[0].id, causes.len()), (CauseId::CpuContended, 1));
        assert!(causes[0].title.ends_with(": `sh` on relay"), "{}", causes[0].title);
        assert!(of("relay", waits).is_empty(), "that is the service itself");
        assert!(of("sh", Vec::new()).is_empty(), "nobody waits for a CPU");
    }

    #[test]
    fn who_takes_a_sixth_of_a_cpu_does_not_explain_that_nine_tenths_are_lost() {
        let sure = |after_cpus, lost| {
            let cpu_use = vec![GrownCpuUse { before_cpus: 0.19, after_cpus, ..busy("sh") }];
            let waits = vec![wait("relay", WaitSite::Cpu, WaitFor::Cpu)];
            let profile = ProfileReport { cpu_use, waits, ..profile() };
            named(&Known { profile: Some(&profile), measured: relay(), lost, ..Known::default() })[0]
                .confidence
        };
        assert_eq!(sure(0.34, Some(0.9)), BESIDE);
        assert_eq!([sure(0.34, Some(0.2)), sure(0.34, None), sure(0.69, Some(0.9))], [0.85; 3]);
    }
}
