//! The sentences that all formats share, so that none of them answers differently.

use std::collections::BTreeMap;

use plimsoll_model::experiment::{HostKind, Metric, Rung};
use plimsoll_model::observation::{Arm, FaultKind, PhaseKind, SamplingCost};
use plimsoll_model::plan::cell_text;
use plimsoll_model::report::{
    OfferReport, PacketReport, RemedyResult, RunReport, RunStatus, StateLivesIn, Trouble,
};
use plimsoll_model::verdict::{Interval, Outcome, Standing, Verdict};

use crate::escape::shell_word;
use crate::number::{count, figure, moment, percent, probability, ratio, seconds};

/// The claim on the measurement itself, which every run makes.
const MEASUREMENT: &str = "measurement";
/// So many of the last lines of a service are shown.
const LINES_SHOWN: usize = 3;
/// The chance below which a trend over cycles is worth a sentence.
const TREND_P: f64 = 0.05;
/// A class of stalls that took less than this share of the time is not told in a row.
const LEAST_SHARE: f64 = 0.001;

/// A rate of which this share was sent was met.
const MET: f64 = 0.99;

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

/// What a standing means, for readers who see no colour.
pub(crate) fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Holds => "the claim holds",
        Standing::Fails => "the claim fails",
        Standing::Open => "the claim stays open",
    }
}

/// Whether estimate and interval are ratios, with 1 for no change.
pub(crate) fn is_ratio(verdict: &Verdict) -> bool {
    matches!(verdict.claim.as_str(), "recovery" | "difference" | "winner") && !is_of_shares(verdict)
}

/// Whether estimate and interval are differences of shares.
fn is_of_shares(verdict: &Verdict) -> bool {
    let compares = matches!(verdict.claim.as_str(), "difference" | "interaction");
    compares && Metric::named(&verdict.metric).is_some_and(Metric::is_share)
}

/// A difference of shares: `+15 points`.
fn points(difference: f64) -> String {
    let points = 100.0 * difference;
    let sign = if points > 0.0 { "+" } else { "" };
    format!("{sign}{} points", figure((points * 10.0).round() / 10.0))
}

/// A share in per cent and tenths: `98.4 %`.
fn tenths(share: f64) -> String {
    format!("{} %", figure((share * 1000.0).round() / 10.0))
}

/// The interval with its confidence: `95 % interval 0.97 to 1.01`.
fn interval(Interval(lo, hi): Interval, confidence: f64, write: fn(f64) -> String) -> String {
    format!("{} % interval {} to {}", figure((confidence * 1e4).round() / 100.0), write(lo), write(hi))
}

/// Whether a verdict is no answer to a claim, but about the measurement itself.
pub(crate) fn is_on_measurement(verdict: &Verdict) -> bool {
    verdict.claim == MEASUREMENT
}

/// Whether a verdict on a limit is about a figure and its bound, and not about a search.
pub(crate) fn is_bound(verdict: &Verdict) -> bool {
    matches!(verdict.expected.as_deref(), Some("held" | "not_held"))
}

/// Whether the claim holds, and what it expects; empty where nothing is expected.
pub(crate) fn expectation(verdict: &Verdict) -> String {
    let standing = capitalised(standing(verdict.standing()));
    let expected = verdict.expected.as_ref();
    expected.map_or_else(String::new, |expected| {
        format!("{standing} (expected: {}).", expected.replace('_', " "))
    })
}

/// The answer without its reason: what was found, how large, how sure, on how many.
pub(crate) fn answer(verdict: &Verdict) -> String {
    let metric = metric(&verdict.metric);
    let Some(estimate) = verdict.estimate.filter(|e| e.is_finite()) else {
        return match verdict.outcome {
            Outcome::Invalid if is_on_measurement(verdict) => "The measurement failed.".to_owned(),
            Outcome::Invalid => format!("The measurement of {metric} carries no answer."),
            _ => format!("Of {metric} no estimate can be given (n = {}).", verdict.n),
        };
    };
    let write = match (is_ratio(verdict), is_of_shares(verdict)) {
        (true, _) => ratio,
        (_, true) => points,
        _ => figure,
    };
    let value = write(estimate);
    let n = format!("n = {}", count(verdict.n as u64));
    let sure_of = |write: fn(f64) -> String| match verdict.interval {
        Some(i) => format!("({}, {n})", interval(i, verdict.confidence, write)),
        None => format!("({n}, no interval)"),
    };
    let sure = sure_of(write);
    let found = match (verdict.claim.as_str(), verdict.outcome) {
        ("recovery", Outcome::Recovered) => format!("{metric} came back to {value} of the baseline"),
        ("recovery", Outcome::NotRecovered) => format!("{metric} stayed at {value} of the baseline"),
        ("recovery", _) => format!("{metric} came to {value} of the baseline"),
        ("confirmation", _) => {
            let sure = sure_of(tenths);
            return format!("{} of the loss in {metric} came back {sure}.", tenths(estimate));
        }
        ("hysteresis", _) => {
            let sure = sure_of(tenths);
            let lost = if verdict.metric.ends_with("_ms") { "added" } else { "lost" };
            return format!("{}: {} {lost} on the way down {sure}.", capitalised(&metric), tenths(estimate));
        }
        ("limit", _) if !is_bound(verdict) => format!("the bound is held up to {value} {metric}"),
        ("winner", _) => format!("the best came to {value} of the next in {metric}"),
        ("difference", _) if is_of_shares(verdict) => format!("{metric} of B less that of A: {value}"),
        ("difference", _) => format!("B came to {value} of A in {metric}"),
        _ => format!("{metric}: {value}"),
    };
    format!("{} {sure}.", capitalised(&found))
}

/// The verdicts that are told one by one: winners stand in a table, unless there is none.
pub(crate) fn told_in_words(report: &RunReport) -> impl Iterator<Item = &Verdict> {
    report.verdicts.iter().filter(|verdict| verdict.claim != "winner" || report.winners.is_empty())
}

/// What the lead of a winner is worth.
pub(crate) fn lead(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Faster => "better than the next",
        Outcome::Same => "as good as the next",
        _ => "not sure",
    }
}

/// The text with its first letter raised.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The reason as a sentence: with a capital letter and a full stop.
pub(crate) fn reason(verdict: &Verdict) -> String {
    let reason = capitalised(verdict.reason.trim());
    if reason.is_empty() || reason.ends_with(['.', '!', '?']) { reason } else { reason + "." }
}

/// Everything that belongs into the short answer below the verdicts: how long it took to recover, whether it worsens, where the
/// state lives, and how far the run came.
pub(crate) fn short_answer(report: &RunReport) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(report.troubles.iter().map(trouble));
    sentences.extend(status(report));
    sentences.extend(time_to_recover(report));
    sentences.extend(trend(report));
    sentences.extend(offered(report));
    sentences.extend(report.state_lives_in.map(|place| state_lives_in(place).to_owned()));
    sentences
}

/// What failed, the first error, what services wrote, and what to try next.
fn trouble(trouble: &Trouble) -> String {
    let mut told = format!("{}.", capitalised(&trouble.what));
    if let Some(error) = &trouble.first_error {
        told.push_str(&format!(" The first error: {error}."));
    }
    for (service, words) in &trouble.last_words {
        let lines: Vec<&str> = words.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join(" / ");
        told.push_str(&format!(" The last lines of stderr of `{service}`: {last}"));
        told.push_str(if last.ends_with('.') { "" } else { "." });
    }
    told.push_str(&format!(" Try: {}.", trouble.next));
    told
}

/// What to say of a run that has no verdict, or did not come to its end.
fn status(report: &RunReport) -> Option<String> {
    let trials = match report.trials.len() {
        0 => "no trial was completed".into(),
        1 => "1 trial is stored".into(),
        n => format!("{n} trials are stored"),
    };
    match report.status {
        RunStatus::Running => Some(format!("The run is still going on: {trials} so far.")),
        RunStatus::Interrupted => {
            Some(format!("The run was interrupted: {trials}; --resume goes on with it."))
        }
        RunStatus::Failed => Some(format!("The run could not go on: {trials}.")),
        RunStatus::Complete if report.trials.is_empty() => Some("No trial was carried out.".into()),
        RunStatus::Complete if report.verdicts.is_empty() => {
            Some("The experiment claims nothing: there are figures, but no verdict.".into())
        }
        RunStatus::Complete => None,
    }
}

fn time_to_recover(report: &RunReport) -> Option<String> {
    let recovery = report.recovery.as_ref()?;
    let each = &recovery.time_to_recover_each_s;
    let missed = each.iter().filter(|t| t.is_none()).count();
    let cycles = match each.len() {
        1 => "1 cycle".into(),
        n => format!("{n} cycles"),
    };
    match recovery.time_to_recover_s {
        Some(s) if missed == 0 => Some(format!("It took {} to recover (median of {cycles}).", seconds(s))),
        Some(s) => Some(format!(
            "It took {} to recover (median); in {missed} of {cycles} there were never enough windows in a row as good as the baseline while it was watched.",
            seconds(s)
        )),
        None if !each.is_empty() => {
            let recovered = report.verdicts.iter().any(|verdict| verdict.outcome == Outcome::Recovered);
            Some(if recovered {
                format!(
                    "It came back after the watch had ended, in all of {cycles}: how long it took is not known."
                )
            } else {
                format!("It was not seen to come back while it was watched, in {cycles}.")
            })
        }
        None => None,
    }
}

fn trend(report: &RunReport) -> Option<String> {
    let recovery = report.recovery.as_ref()?;
    let (tau, p) = (recovery.trend_tau?, recovery.trend_p?);
    (p < TREND_P).then(|| {
        let way = if tau < 0.0 { "falls" } else { "rises" };
        format!("The ratio {way} from cycle to cycle (Kendall's tau {tau:.2}, p {}).", probability(p))
    })
}

/// Whether the rates that were to be offered were met, in all measured phases of all trials.
fn offered(report: &RunReport) -> Option<String> {
    let phases = report.trials.iter().flat_map(|trial| &trial.phases);
    let measured = phases.filter(|phase| phase.kind == PhaseKind::Measure);
    let offers: Vec<&OfferReport> = measured.filter_map(|phase| phase.offer.as_ref()).collect();
    let met = |offer: &&&OfferReport| offer.sent_per_second >= MET * offer.offered_per_second;
    let (number, met) = (offers.len(), offers.iter().filter(met).count());
    let worst =
        offers.iter().map(|offer| offer.sent_per_second / offer.offered_per_second).fold(1.0, f64::min);
    (number > 0).then(|| {
        if met == number {
            "The offered rate was met.".to_owned()
        } else {
            let missed = number - met;
            format!(
                "The offered rate was not met in {missed} of {number} phases: {} % in the worst.",
                percent(worst)
            )
        }
    })
}

/// Where the state lives, and what showed it.
pub(crate) fn state_lives_in(place: StateLivesIn) -> &'static str {
    match place {
        StateLivesIn::Service => "The state lives in the service: restarting it restored the figure.",
        StateLivesIn::Cache => {
            "The state lives in a cache of the kernel: dropping caches restored the figure."
        }
        StateLivesIn::HostKernel => {
            "The state lives in the host's kernel: only making the host anew restored the figure."
        }
        StateLivesIn::Elsewhere => "The state lives elsewhere: none of the remedies restored the figure.",
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

/// What a rung did, in words; one that could not be tried is not called invalid.
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

/// What kind of fault, in words.
pub(crate) fn fault_kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::ServiceDied => "a service died",
        FaultKind::Deadline => "a deadline passed",
        FaultKind::AgentLost => "an agent was lost",
        FaultKind::LinkSaturated => "a link could not carry what came",
        FaultKind::StoodStill => "the run stood still",
    }
}

/// What a host is made of.
pub(crate) fn host_kind(kind: HostKind) -> &'static str {
    match kind {
        HostKind::Namespace => "namespace",
        HostKind::Local => "local process",
    }
}

/// What the two sides of the evidence are: a heading, and the titles of the columns.
pub(crate) fn evidence_sides(report: &RunReport) -> (&'static str, &'static str, &'static str) {
    let is_of_a_cell = report.verdicts.iter().any(|verdict| verdict.outcome == Outcome::Interaction);
    if report.recovery.is_some() {
        ("What changed most from before to after", "before", "after")
    } else if is_of_a_cell {
        ("What sets the odd cell apart from the others", "elsewhere", "there")
    } else {
        ("What sets the worse side apart from the better one", "better", "worse")
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
    let told = of.stalls.iter().filter(|stall| stall.share >= LEAST_SHARE).take(most).map(|stall| {
        format!(
            "{} {} % ({} × {} ms)",
            stall.class.name().replace('_', " "),
            percent(stall.share),
            count(stall.count),
            figure(stall.median_ms)
        )
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { "none".into() } else { told.join(", ") }
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

/// What sampling cost, in a sentence; absent when nothing was sampled.
pub(crate) fn sampling(cost: &SamplingCost) -> Option<String> {
    (cost.samples > 0 && cost.elapsed_us > 0).then(|| {
        format!(
            "Sampling took {} samples and {} of CPU in {}: {} % of one CPU.",
            count(cost.samples),
            seconds(cost.cpu_us as f64 / 1e6),
            seconds(cost.elapsed_us as f64 / 1e6),
            figure(cost.cpu_us as f64 / cost.elapsed_us as f64 * 100.0),
        )
    })
}

/// The faults of trials, each as a sentence.
pub(crate) fn faults(report: &RunReport) -> Vec<String> {
    let each =
        report.trials.iter().flat_map(|trial| trial.faults.iter().map(move |fault| (trial.number, fault)));
    each.map(|(number, fault)| {
        format!("Trial {number} is worthless: {} in {}: {}", fault_kind(fault.kind), fault.phase, fault.what)
    })
    .collect()
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
