//! The sentences that all formats share, so that none of them answers differently.

use std::collections::BTreeMap;

use plimsoll_model::experiment::Rung;
use plimsoll_model::note::NoteKind;
use plimsoll_model::observation::{Arm, FaultKind, SamplingCost};
use plimsoll_model::plan::cell_text;
use plimsoll_model::report::{PacketReport, RemedyResult, RunReport, StateLivesIn};
use plimsoll_model::shell::shell_word;
use plimsoll_model::verdict::{Interval, Outcome, Standing};

use crate::number::{count, figure, moment, percent, ratio, seconds};

/// A class of stalls that took less than this share of the time gets no row.
const LEAST_SHARE: f64 = 0.001;

/// The level of each factor.
pub(crate) type Cell = BTreeMap<String, String>;

/// A metric's public name in words.
pub(crate) fn metric(name: &str) -> String {
    match name {
        "median_ms" => "median time of a request (ms)".into(),
        "megabytes_per_second" => "MB/s".into(),
        "device_share" => "share from the device".into(),
        "p90_ms" => "90th percentile of request time (ms)".into(),
        "p95_ms" => "95th percentile of request time (ms)".into(),
        "p99_ms" => "99th percentile of request time (ms)".into(),
        "p99_9_ms" => "99.9th percentile of request time (ms)".into(),
        "error_share" => "share of failures".into(),
        other => other.replace('_', " "),
    }
}

/// An outcome as the first word of a sentence.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Recovered => "Recovered",
        Outcome::NotRecovered => "Not recovered",
        Outcome::Slower => "Slower",
        Outcome::Faster => "Faster",
        Outcome::Same => "Same",
        Outcome::OneMode => "One mode",
        Outcome::SeveralModes => "Several modes",
        Outcome::TooFew => "Too few values",
        Outcome::Interaction => "Interaction",
        Outcome::Additive => "Additive",
        Outcome::Changed => "Changed",
        Outcome::Unchanged => "Unchanged",
        Outcome::Delivered => "Delivered",
        Outcome::NotDelivered => "Not delivered",
        Outcome::Reached => "Reached",
        Outcome::NotReached => "Not reached",
        Outcome::Held => "Held",
        Outcome::NotHeld => "Not held",
        Outcome::Confirmed => "Confirmed",
        Outcome::NotConfirmed => "Not confirmed",
        Outcome::Estimated => "Estimated",
        Outcome::Undecided => "Undecided",
        Outcome::Invalid => "Invalid",
    }
}

/// Meaning of a standing, for readers who see no colour.
pub(crate) fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Holds => "the claim holds",
        Standing::Fails => "the claim fails",
        Standing::Open => "the claim stays open",
    }
}

/// The text with its first letter raised.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Where the state lies, and the remedy that showed it.
pub(crate) fn state_lives_in(place: StateLivesIn) -> &'static str {
    match place {
        StateLivesIn::Service => "The service keeps the state: a restart of the service restored the figure.",
        StateLivesIn::Cache => {
            "A cache of the kernel keeps the state: dropping the caches restored the figure."
        }
        StateLivesIn::HostKernel => {
            "The host's kernel keeps the state: the figure came back only after the host was rebuilt."
        }
        StateLivesIn::Elsewhere => "The state lies elsewhere: no remedy restored the figure.",
    }
}

/// A rung in words.
pub(crate) fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::WaitLonger => "wait longer",
        Rung::RestartService => "restart the service",
        Rung::DropCaches => "drop caches",
        Rung::RebuildHost => "rebuild the host",
    }
}

/// Effect of a rung, in words; one that could not be tried is not called invalid.
pub(crate) fn rung_outcome(remedy: &RemedyResult) -> &'static str {
    match remedy.outcome {
        Outcome::Invalid => "could not be tried",
        Outcome::Recovered => "restored it",
        Outcome::NotRecovered => "did not restore it",
        other => outcome(other),
    }
}

/// A ratio and its interval in brackets: `0.32 [0.30, 0.34]`.
pub(crate) fn ratio_and_interval(estimate: Option<f64>, interval: Option<Interval>) -> String {
    match (estimate, interval) {
        (None, _) => crate::number::NONE.into(),
        (Some(e), None) => ratio(e),
        (Some(e), Some(i)) => format!("{} [{}, {}]", ratio(e), ratio(i.lo()), ratio(i.hi())),
    }
}

/// Kind of a fault, in words.
pub(crate) fn fault_kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::ServiceDied => "a service died",
        FaultKind::Deadline => "a deadline passed",
        FaultKind::AgentLost => "an agent was lost",
        FaultKind::LinkSaturated => "a link could not carry what came",
        FaultKind::StoodStill => "the run stood still",
        FaultKind::StepMissed => "a step came too late",
        FaultKind::Skipped => "a phase was skipped",
        FaultKind::ClockJumped => "a clock jumped",
    }
}

/// The host that packets were captured on, with the rig where it is not the one that matters.
pub(crate) fn captured_on(of: &PacketReport) -> String {
    match of.arm {
        Arm::Treatment => of.host.clone(),
        Arm::Control => format!("{} (control)", of.host),
    }
}

/// The share of the time in which connections did not stand still, in per cent.
pub(crate) fn moving(of: &PacketReport) -> String {
    if of.lifetime_s <= 0.0 {
        return crate::number::NONE.into();
    }
    let still: f64 = of.stalls.iter().map(|stall| stall.share).sum();
    percent((1.0 - still).max(0.0))
}

/// The greatest classes of stalls in a row: `delayed ack 81.2 % (40 × 40.1 ms)`.
pub(crate) fn stalls(of: &PacketReport, most: usize) -> String {
    let classes = of.stalls.iter().filter(|stall| stall.share >= LEAST_SHARE).take(most).map(|stall| {
        format!(
            "{} {} % ({} × {} ms)",
            stall.class.name().replace('_', " "),
            percent(stall.share),
            count(stall.count),
            figure(stall.median_ms)
        )
    });
    let classes: Vec<String> = classes.collect();
    if classes.is_empty() { "none".into() } else { classes.join(", ") }
}

/// The shares of the senders' busy time in which window and buffer were the limit, in per cent; empty where the kernel was not asked.
pub(crate) fn limited(of: &PacketReport) -> String {
    let busy = of.kernel.filter(|times| times.busy_s > 0.0);
    busy.map_or_else(String::new, |times| {
        let share = |part: f64| percent(part / times.busy_s);
        format!("{} / {}", share(times.window_limited_s), share(times.buffer_limited_s))
    })
}

/// The longest stall of the main class of each cell: where it was, and what showed it.
pub(crate) fn longest_stalls(report: &RunReport) -> Vec<(String, String)> {
    let of = |packets: &PacketReport| {
        let main = packets.stalls.iter().find(|stall| Some(stall.class) == packets.main_class)?;
        let cell = titled(&packets.phase, &packets.cell);
        let what = format!("{}, {}", main.class.name().replace('_', " "), cell);
        (packets.arm == Arm::Treatment).then(|| (capitalised(&what), main.evidence.clone()))
    };
    report.packets.iter().filter_map(of).collect()
}

/// The part of all CPUs' time that the controller, its profiler and the agents took beside their loads, in per cent; `None` if that was not noted.
pub(crate) fn own_share(cost: &SamplingCost) -> Option<f64> {
    let own_us = cost.controller_us + cost.agents_us + cost.cpu_us;
    (cost.machine_us > 0).then(|| 100.0 * own_us as f64 / cost.machine_us as f64)
}

/// Cost of sampling, in a sentence; absent when nothing was sampled.
pub(crate) fn sampling(cost: &SamplingCost) -> Option<String> {
    let share = |cpu_us: u64| figure(cpu_us as f64 / cost.elapsed_us as f64 * 100.0);
    (cost.samples > 0 && cost.elapsed_us > 0).then(|| {
        let mut sentence = format!(
            "Sampling took {} samples and {} of CPU in {}: {} % of one CPU.",
            count(cost.samples),
            seconds(cost.cpu_us as f64 / 1e6),
            seconds(cost.elapsed_us as f64 / 1e6),
            share(cost.cpu_us),
        );
        if cost.controller_us > 0 {
            let [controller, agents] =
                [cost.controller_us, cost.agents_us].map(|us| seconds(us as f64 / 1e6));
            sentence.push_str(&format!(
                " The controller, with its profiler, took {controller}, and the agents {agents} besides"
            ));
            let share = own_share(cost).map(|share| format!("; together {} % of all CPUs", figure(share)));
            sentence.push_str(&share.unwrap_or_default());
            sentence.push('.');
        }
        sentence
    })
}

/// The faults of trials, each as a sentence.
pub(crate) fn faults(report: &RunReport) -> Vec<String> {
    let each =
        report.trials.iter().flat_map(|trial| trial.faults.iter().map(move |fault| (trial.number, fault)));
    each.map(|(number, fault)| match fault.kind {
        FaultKind::Skipped => {
            format!("Trial {number} is not counted: of its phase {}, {}", fault.phase, fault.what)
        }
        kind => {
            format!("Trial {number} is worthless: {} in {}: {}", fault_kind(kind), fault.phase, fault.what)
        }
    })
    .collect()
}

/// Notes to the reader of the figures: the faults of trials first.
pub(crate) fn notes(report: &RunReport) -> Vec<String> {
    // Why a run failed is part of the answer.
    let notes = report.notes.iter().filter(|note| note.kind != NoteKind::Failed);
    faults(report).into_iter().chain(notes.map(|note| note.text.clone())).collect()
}

/// When the run was, and how long it took.
pub(crate) fn provenance(report: &RunReport) -> String {
    format!(
        "Run {}, started {}, took {}, {} {}, seed {}.",
        report.run,
        moment(report.started_unix_s),
        seconds(report.elapsed_s),
        report.trials.len(),
        if report.trials.len() == 1 { "trial" } else { "trials" },
        report.seed,
    )
}

/// The command that does the same again, in the same random order.
pub(crate) fn reproduce(report: &RunReport) -> String {
    report.rerun_command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// A title, with the cell that it is about where there is more than one.
pub(crate) fn titled(title: &str, cell: &Cell) -> String {
    if cell.is_empty() { title.into() } else { format!("{title}, {}", cell_title(cell)) }
}

/// A cell as a heading: `kernel = 6.12, clients = 250`; empty without factors.
pub(crate) fn cell_title(cell: &Cell) -> String {
    cell_text(cell)
}
