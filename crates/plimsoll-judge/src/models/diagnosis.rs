//! Whether a path carries TCP at a rate and a round-trip time, and if not, why.
//!
//! Mathis, Heffner, O'Neil & Siemsen 2008, *Pathdiag: Automated TCP Diagnosis*: a part of a path must be as good as the whole has to be. It must
//! lose no more than Mathis' formula allows for the whole, its queue must take a whole window at once, and both hosts must grant
//! that window.

use super::loss::{Budget, Formula, budget};
use crate::input::JudgeError;
use crate::stats::dist::score_share;
use crate::stats::median;
use crate::wording::figure;
use plimsoll_model::experiment::claim::diagnose::{CheckReport, PathCheck};
use plimsoll_model::verdict::{Outcome, Verdict};

/// The confidence of the interval of a loss.
const CONFIDENCE: f64 = 0.95;
/// Least share of an offered rate that arrives on a fast enough path, apart from losses at any rate.
const CARRIED: f64 = 0.98;
/// A sender that offered less than this of the rate did not ask the question.
const OFFERED: f64 = 0.9;
/// The part of a socket's buffer that holds data; the rest is the kernel's bookkeeping (`tcp_adv_win_scale`, ip-sysctl).
const OF_BUFFER: f64 = 0.5;
/// The largest window without scaling (RFC 9293), in bytes.
const UNSCALED: f64 = 65_535.0;

/// Requirements of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// In bit/s of data.
    pub rate: f64,
    /// In seconds.
    pub rtt: f64,
    /// In bytes of data.
    pub segment: f64,
    /// C of Mathis' formula.
    pub constant: f64,
}

/// Datagrams, each with a segment's data, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    /// How many were sent.
    pub sent: f64,
    /// How many arrived.
    pub received: f64,
    /// From the first to the last that was sent, in seconds.
    pub seconds: f64,
}

/// Buffers that a host grants TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grant {
    /// The largest buffer, in bytes.
    pub buffer: f64,
    /// Whether windows may be larger than 64 KiB.
    pub scaling: bool,
}

/// Findings about a path and the hosts at its ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The length of a datagram on the path, in bytes.
    pub frame: f64,
    /// Datagrams far apart.
    pub apart: Sent,
    /// Datagrams at the rate that is wanted.
    pub at_rate: Sent,
    /// Bursts.
    pub bursts: Vec<Sent>,
    /// Buffer on the sender's host.
    pub sender: Grant,
    /// Buffer on the receiver's host.
    pub receiver: Grant,
}

/// Results of all checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Largest loss and least queue of the path.
    pub budget: Budget,
    /// The checks, in a fixed order.
    pub findings: Vec<CheckReport>,
    /// TCP's predicted rate over the whole path, in bit/s of data, by the worst of the checks; no more than was offered.
    pub reaches: f64,
    /// How many datagrams were sent.
    pub n: usize,
}

/// Looks at a path.
///
/// # Errors
/// A figure of the target that is not finite and above 0, or no datagram of a kind.
pub fn diagnose(target: &Target, facts: &Facts) -> Result<Diagnosis, JudgeError> {
    let budget = budget(target.rate, target.rtt, target.segment, target.constant)?;
    let some = |sent: &Sent| sent.sent >= 1.0;
    if !(some(&facts.apart) && some(&facts.at_rate) && facts.bursts.iter().any(some)) {
        return Err(JudgeError::Empty {
            what: "datagrams".into(),
            expected: "some that were sent in each way",
        });
    }
    let lost = 1.0 - facts.apart.received / facts.apart.sent;
    let findings = vec![
        rate(target, facts, lost),
        loss(target, facts, &budget),
        buffer(target, facts, &budget, lost),
        window(target, PathCheck::SendBuffer, facts.sender, "sender", "tcp_wmem"),
        window(target, PathCheck::ReceiveBuffer, facts.receiver, "receiver", "tcp_rmem"),
        scaling(target, facts),
    ];
    let reaches = findings.iter().map(|finding| reaches(target, finding)).fold(target.rate, f64::min);
    let n = facts.apart.sent + facts.at_rate.sent + facts.bursts.iter().map(|burst| burst.sent).sum::<f64>();
    Ok(Diagnosis { budget, findings, reaches, n: n as usize })
}

/// TCP's rate if this were the only limit.
fn reaches(target: &Target, finding: &CheckReport) -> f64 {
    if finding.passes != Some(false) {
        return f64::INFINITY;
    }
    match finding.check {
        PathCheck::Rate => finding.measured,
        PathCheck::Loss => {
            target.constant * Formula::Mathis.rate(target.rtt, finding.measured, target.segment)
        }
        // A window, or what a queue takes of it, in each round trip.
        _ => 8.0 * finding.measured / target.rtt,
    }
}

fn rate(target: &Target, facts: &Facts, lost: f64) -> CheckReport {
    let Sent { sent, received, seconds } = facts.at_rate;
    let bits = |packets: f64| 8.0 * target.segment * packets / seconds.max(1e-9);
    let (offered, arrived) = (bits(sent), bits(received));
    let short = received < CARRIED * sent * (1.0 - lost);
    let asked = offered >= OFFERED * target.rate;
    let passes = if short { Some(false) } else { asked.then_some(true) };
    let text = match passes {
        Some(true) => format!("{} arrive when {} are sent", mega(arrived), mega(offered)),
        Some(false) => format!("no more than {} arrive when {} are sent", mega(arrived), mega(offered)),
        None => format!("the sender reached only {} of {}", mega(offered), mega(target.rate)),
    };
    let advice = match passes {
        Some(true) => String::new(),
        Some(false) => {
            "a link of this path is slower than that, or carries other traffic: find it (`hops`)".into()
        }
        None => "send from an idle host".into(),
    };
    CheckReport {
        check: PathCheck::Rate,
        passes,
        measured: arrived,
        needed: target.rate,
        unit: "bit/s".into(),
        text,
        advice,
    }
}

fn loss(target: &Target, facts: &Facts, budget: &Budget) -> CheckReport {
    let Sent { sent, received, .. } = facts.apart;
    let lost = sent - received;
    let share = lost / sent;
    let interval = score_share(lost, sent, CONFIDENCE);
    let passes = if interval.hi() <= budget.loss {
        Some(true)
    } else if interval.lo() > budget.loss {
        Some(false)
    } else {
        None
    };
    let allowed = format!("one in {:.0} ({:.4} %) is allowed", budget.packets_per_loss, 100.0 * budget.loss);
    let text =
        format!("{lost} of {sent} packets that were far apart were lost ({:.4} %), {allowed}", 100.0 * share);
    let advice = match passes {
        Some(true) => String::new(),
        Some(false) => format!(
            "these losses are not those of a full queue: look for errors on the links (cables, optics, duplex, radio), for policers and for \
             shapers; at {:.3} % TCP reaches {}",
            100.0 * share,
            mega(target.constant * Formula::Mathis.rate(target.rtt, share, target.segment))
        ),
        None => "send more packets (`packets`): these do not show it".into(),
    };
    CheckReport {
        check: PathCheck::Loss,
        passes,
        measured: share,
        needed: budget.loss,
        unit: "share".into(),
        text,
        advice,
    }
}

/// Checks the queue at the narrow place: the part of a burst that arrives is its capacity.
fn buffer(target: &Target, facts: &Facts, budget: &Budget, lost: f64) -> CheckReport {
    let taken: Vec<f64> = facts.bursts.iter().map(|burst| burst.received / (1.0 - lost).max(0.01)).collect();
    let (sent, taken) = (facts.bursts.iter().map(|burst| burst.sent).fold(0.0, f64::max), median(&taken));
    let measured = taken.min(sent) * facts.frame;
    let passes = measured >= budget.queue_bytes;
    let whole = taken >= 0.99 * sent;
    let text = format!(
        "the queue takes {}{measured:.0} B at once, {:.0} B are needed",
        if whole { "at least " } else { "" },
        budget.queue_bytes
    );
    let advice = if passes {
        String::new()
    } else {
        format!(
            "enlarge the queue at the bottleneck to {:.0} B; windows for more than {} overflow its current size",
            budget.queue_bytes,
            mega(8.0 * measured / target.rtt)
        )
    };
    CheckReport {
        check: PathCheck::Buffer,
        passes: Some(passes),
        measured,
        needed: budget.queue_bytes,
        unit: "bytes".into(),
        text,
        advice,
    }
}

fn window(target: &Target, check: PathCheck, grant: Grant, host: &str, setting: &str) -> CheckReport {
    let (measured, needed) = (OF_BUFFER * grant.buffer, target.rate * target.rtt / 8.0);
    let passes = measured >= needed;
    let text =
        format!("the {host}'s {setting} limits the window to {measured:.0} B, {needed:.0} B are needed");
    let advice = if passes {
        String::new()
    } else {
        format!(
            "set the third number of net.ipv4.{setting} on the {host} to {:.0} or more",
            (needed / OF_BUFFER).ceil()
        )
    };
    CheckReport { check, passes: Some(passes), measured, needed, unit: "bytes".into(), text, advice }
}

fn scaling(target: &Target, facts: &Facts) -> CheckReport {
    let needed = target.rate * target.rtt / 8.0;
    let on = facts.sender.scaling && facts.receiver.scaling;
    let passes = on || needed <= UNSCALED;
    let measured = if on { UNSCALED * f64::from(1 << 14) } else { UNSCALED };
    let state = if on { "on" } else { "off" };
    let text = format!("window scaling is {state}, a window of {needed:.0} B is needed");
    let advice =
        if passes { String::new() } else { "set net.ipv4.tcp_window_scaling to 1 on both hosts".into() };
    CheckReport {
        check: PathCheck::WindowScaling,
        passes: Some(passes),
        measured,
        needed,
        unit: "bytes".into(),
        text,
        advice,
    }
}

fn mega(rate: f64) -> String {
    format!("{} Mbit/s", figure(rate / 1e6))
}

impl Diagnosis {
    /// The verdict: `reached` where every check passes, `not_reached` where one fails, with the faults and what to do about them, else
    /// `undecided`. The estimate is the rate that TCP would reach.
    pub fn verdict(&self, metric: &str) -> Verdict {
        let failing: Vec<&CheckReport> =
            self.findings.iter().filter(|finding| finding.passes == Some(false)).collect();
        let open: Vec<&CheckReport> =
            self.findings.iter().filter(|finding| finding.passes.is_none()).collect();
        let said = |findings: &[&CheckReport]| {
            let each = findings
                .iter()
                .map(|finding| format!("{}: {}; {}", finding.check.name(), finding.text, finding.advice));
            each.collect::<Vec<_>>().join(". ")
        };
        let (outcome, reason) = if !failing.is_empty() {
            let names: Vec<&str> = failing.iter().map(|finding| finding.check.name()).collect();
            (Outcome::NotReached, format!("the fault is {}. {}", names.join(" and "), said(&failing)))
        } else if !open.is_empty() {
            (Outcome::Undecided, said(&open))
        } else {
            let fine: Vec<&str> = self.findings.iter().take(3).map(|finding| finding.text.as_str()).collect();
            (Outcome::Reached, format!("no fault found: {}", fine.join("; ")))
        };
        Verdict {
            estimate: Some(self.reaches),
            confidence: CONFIDENCE,
            ..Verdict::bare("diagnose", metric, outcome, self.n, reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Target = Target { rate: 90e6, rtt: 0.003, segment: 1448.0, constant: 0.7 };

    fn good() -> Facts {
        let burst = Sent { sent: 51.0, received: 51.0, seconds: 0.0 };
        let grant = Grant { buffer: 4_194_304.0, scaling: true };
        Facts {
            frame: 1514.0,
            apart: Sent { sent: 8000.0, received: 8000.0, seconds: 4.0 },
            at_rate: Sent { sent: 23_300.0, received: 23_300.0, seconds: 3.0 },
            bursts: vec![burst; 9],
            sender: grant,
            receiver: grant,
        }
    }

    fn faults(target: &Target, facts: &Facts) -> Vec<&'static str> {
        let found = diagnose(target, facts).unwrap();
        found.findings.iter().filter(|f| f.passes == Some(false)).map(|f| f.check.name()).collect()
    }

    #[test]
    fn the_budgets_of_ninety_megabits_at_three_milliseconds_are_those_of_the_formula() {
        let found = diagnose(&TARGET, &good()).unwrap();
        assert_eq!((found.budget.packets_per_loss, found.budget.queue_bytes), (1108.0, 33_750.0));
        let of = |check| found.findings.iter().find(|finding| finding.check == check).unwrap();
        assert!(of(PathCheck::Loss).text.contains("one in 1108 (0.0902 %) is allowed"), "{found:?}");
        assert!(of(PathCheck::Buffer).text.contains("33750 B are needed"), "{found:?}");
        assert_eq!(of(PathCheck::SendBuffer).needed, 33_750.0);
        assert_eq!(found.verdict("rate").outcome, Outcome::Reached);
        assert_eq!(found.reaches, 90e6);
    }

    #[test]
    fn each_fault_is_named_with_what_to_do_about_it() {
        let lossy = Facts { apart: Sent { received: 7920.0, ..good().apart }, ..good() };
        let lossy = Facts { at_rate: Sent { received: 23_067.0, ..lossy.at_rate }, ..lossy };
        assert_eq!(faults(&TARGET, &lossy), ["loss"]);
        let verdict = diagnose(&TARGET, &lossy).unwrap().verdict("rate");
        assert_eq!(verdict.outcome, Outcome::NotReached);
        assert!(verdict.reason.starts_with("the fault is loss. "), "{}", verdict.reason);
        // C·MSS/(RTT·√0.01)
        assert!((verdict.estimate.unwrap() / (0.7 * 8.0 * 1448.0 / 0.003 / 0.1) - 1.0).abs() < 1e-6);

        let short = Facts { bursts: vec![Sent { sent: 51.0, received: 7.0, seconds: 0.0 }; 9], ..good() };
        assert_eq!(faults(&TARGET, &short), ["buffer"]);
        let slow = Facts { at_rate: Sent { received: 12_000.0, ..good().at_rate }, ..good() };
        assert_eq!(faults(&TARGET, &slow), ["rate"]);
        let small = Facts { receiver: Grant { buffer: 60_000.0, scaling: true }, ..good() };
        assert_eq!(faults(&TARGET, &small), ["receive_buffer"]);
        let advice = diagnose(&TARGET, &small).unwrap().verdict("rate").reason;
        assert!(advice.contains("net.ipv4.tcp_rmem on the receiver to 67500"), "{advice}");
    }

    #[test]
    fn a_window_that_needs_scaling_fails_without_it_and_a_small_one_does_not() {
        let off = Grant { scaling: false, ..good().sender };
        let facts = Facts { sender: off, ..good() };
        assert_eq!(faults(&TARGET, &facts), [""; 0]);
        let far = Target { rtt: 0.1, ..TARGET };
        let bursts = vec![Sent { sent: 1600.0, received: 1600.0, seconds: 0.0 }; 3];
        assert_eq!(
            faults(&far, &Facts { bursts, apart: Sent { sent: 1e7, received: 1e7, seconds: 1.0 }, ..facts }),
            ["window_scaling"]
        );
    }

    #[test]
    fn too_few_packets_and_a_sender_that_is_too_slow_leave_it_open() {
        let few = Facts { apart: Sent { sent: 500.0, received: 500.0, seconds: 1.0 }, ..good() };
        let verdict = diagnose(&TARGET, &few).unwrap().verdict("rate");
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(verdict.reason.contains("send more packets"), "{}", verdict.reason);
        let late = Facts { at_rate: Sent { sent: 15_000.0, received: 15_000.0, seconds: 3.0 }, ..good() };
        assert_eq!(diagnose(&TARGET, &late).unwrap().verdict("rate").outcome, Outcome::Undecided);
    }

    #[test]
    fn a_queue_that_takes_the_whole_burst_takes_at_least_that() {
        let found = diagnose(&TARGET, &good()).unwrap();
        assert!(found.findings[2].text.contains("at least 77214 B"), "{found:?}");
        assert!(diagnose(&TARGET, &Facts { bursts: vec![], ..good() }).is_err());
        assert!(diagnose(&Target { rate: 0.0, ..TARGET }, &good()).is_err());
    }
}
