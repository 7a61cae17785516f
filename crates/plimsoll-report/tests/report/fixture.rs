//! Runs of a made-up firewall: every figure is computed from a few constants, and is the same every time.

use std::collections::BTreeMap;

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::experiment::claim::recovery::{CycleRatio, RecoveryDetails};
use plimsoll_model::experiment::{HostKind, Rung};
use plimsoll_model::observation::{
    Arm, ErrorKind, Fault, FaultKind, Frame, FrameKind, Interval as Counts, Latencies, LoadResult,
    Percentiles, PhaseKind, PhaseRecord, Profile, ProfileBuilder, ProfileClock, Sample, SamplingCost, Slice,
    TrialRecord,
};
use plimsoll_model::report::{
    CpuShares, Environment, Evidence, Finding, GrownFunction, HostReport, LimitedTimes, LinkReport, Machine,
    PacketReport, PhaseReport, ProfileReport, ProfileSide, ProgramVersion, RUN_SCHEMA, RemedyResult,
    RunReport, RunStatus, StallReport, StateLivesIn, TrialReport, VmstatReport,
};
use plimsoll_model::trace::{
    Actor, Class, ConnectionReport, DirectionReport, HandshakeReport, Stall, TRACE_SCHEMA, TimeSequence,
    TraceReport, Way,
};
use plimsoll_model::verdict::{Interval, Outcome, Verdict};

const SECOND: u64 = 1_000_000_000;
/// CLOCK_MONOTONIC_RAW at the start of every trial: the machine has been up for a while.
const BOOTED_NS: u64 = 86_400 * SECOND;

/// A number from -1 to 1 that looks random and is always the same.
pub(crate) fn wobble(seed: u64) -> f64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed >> 11) as f64 / (1_u64 << 53) as f64) * 2.0 - 1.0
}

/// A phase of the made-up trial: what is left of the rate of the treatment, and how long it lasts.
struct Plan {
    name: &'static str,
    kind: PhaseKind,
    cycle: u32,
    rung: Option<Rung>,
    remaining: f64,
    seconds: f64,
}

/// How the treatment's rate falls with the cycle.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    Recovers,
    Leaks,
}

impl Fate {
    fn remaining(self, cycle: u32) -> f64 {
        match self {
            Self::Recovers => 1.0,
            Self::Leaks => 1.0 / (1.0 + 0.55 * f64::from(cycle)),
        }
    }

    fn plan(self) -> Vec<Plan> {
        let plan = |name, kind, cycle, remaining, seconds| Plan {
            name,
            kind,
            cycle,
            rung: None,
            remaining,
            seconds,
        };
        let mut phases = vec![plan("baseline", PhaseKind::Measure, 0, 1.0, 2.0)];
        for cycle in 1..=4 {
            let before = self.remaining(cycle - 1);
            let after = self.remaining(cycle);
            phases.push(plan("flood", PhaseKind::Drive, cycle, before * 0.9, 6.0));
            phases.push(plan("settle", PhaseKind::Settle, cycle, 0.0, 1.5));
            phases.push(plan("after", PhaseKind::Measure, cycle, after, 2.0));
        }
        if self == Self::Leaks {
            for (rung, remaining) in RUNGS {
                let rung = Some(rung);
                let (name, kind) = ("after", PhaseKind::Remedy);
                phases.push(Plan { name, kind, cycle: 4, rung, remaining, seconds: 1.0 });
            }
        }
        phases
    }
}

const RUNGS: [(Rung, f64); 4] = [
    (Rung::WaitLonger, 0.31),
    (Rung::RestartService, 0.32),
    (Rung::DropCaches, 0.31),
    (Rung::RebuildHost, 1.0),
];

/// Connections per second of the healthy firewall.
const HEALTHY: f64 = 2030.0;

fn slice(phase: &Plan, arm: Arm, number: u32, at_ns: u64, seconds: f64, seed: u64) -> Slice {
    let remaining = if arm == Arm::Treatment { phase.remaining } else { 1.0 };
    let rate = HEALTHY * remaining * (1.0 + 0.03 * wobble(seed));
    let connections = (rate * seconds).round() as u64;
    let p50 = (480.0 / remaining.max(0.05) * (1.0 + 0.05 * wobble(seed + 1))) as u64;
    let steps = 8;
    let step_ns = (seconds * 1e9) as u64 / steps;
    let intervals = (0..steps).map(|i| Counts {
        end_ns: (i + 1) * step_ns,
        connections: (rate * step_ns as f64 / 1e9 * (1.0 + 0.1 * wobble(seed + i))).round() as u64,
        ..Counts::default()
    });
    let percentiles =
        Percentiles { p50, p90: p50 * 17 / 10, p95: p50 * 2, p99: p50 * 4, p99_9: p50 * 8, max: p50 * 11 };
    Slice {
        load: String::new(),
        arm,
        number,
        at_ns,
        result: LoadResult {
            started_ns: BOOTED_NS + at_ns,
            elapsed_ns: (seconds * 1e9) as u64,
            connections,
            requests: connections,
            latency: Latencies { percentiles, ..Latencies::default() },
            intervals: intervals.collect(),
            threads: 1,
            ..LoadResult::default()
        },
        counters: BTreeMap::new(),
        background: Vec::new(),
        flushes: BTreeMap::new(),
    }
}

fn phase_record(phase: &Plan, start_ns: u64, seed: u64) -> PhaseRecord {
    let length = (phase.seconds * 1e9) as u64;
    let slices = match phase.kind {
        PhaseKind::Settle => Vec::new(),
        PhaseKind::Drive => vec![slice(phase, Arm::Treatment, 0, start_ns, phase.seconds, seed)],
        _ => (0..8)
            .map(|i| {
                let arm = if i % 2 == 0 { Arm::Treatment } else { Arm::Control };
                let at = start_ns + length / 8 * u64::from(i);
                slice(phase, arm, i / 2, at, phase.seconds / 8.0, seed * 100 + u64::from(i) * 10)
            })
            .collect(),
    };
    PhaseRecord {
        name: phase.name.into(),
        kind: phase.kind,
        cycle: phase.cycle,
        rung: phase.rung,
        start_ns,
        end_ns: start_ns + length,
        slices,
        events: Vec::new(),
        notes: Vec::new(),
        captures: Vec::new(),
        profiles: Vec::new(),
    }
}

/// Shares of two CPUs in a phase.
fn cpu(phase: &Plan) -> CpuShares {
    let busy = |user, system, softirq| CpuShares {
        user,
        system,
        softirq,
        iowait: 0.002,
        steal: 0.003,
        idle: 1.0 - user - system - softirq - 0.005,
    };
    let lost = 1.0 - phase.remaining.min(1.0);
    match phase.kind {
        PhaseKind::Settle => busy(0.01, 0.02, 0.002),
        PhaseKind::Drive => busy(0.22 - 0.1 * lost, 0.58 - 0.1 * lost, 0.1 + 0.25 * lost),
        _ => busy(0.17 - 0.14 * lost, 0.3 - 0.1 * lost, 0.06 + 0.34 * lost),
    }
}

fn series(phases: &[(Plan, u64, u64)], hz: u32) -> Vec<Sample> {
    let end = phases.last().map_or(0, |(_, _, end)| *end);
    let step = SECOND / u64::from(hz);
    let mut used = [1e9_f64; 8];
    let mut samples = Vec::new();
    for at in (0..=end).step_by(step as usize) {
        let (plan, _, _) =
            phases.iter().find(|(_, s, e)| (*s..*e).contains(&at)).unwrap_or(&phases[phases.len() - 1]);
        let c = cpu(plan);
        let shares = [c.user, 0.0, c.system, c.idle, c.iowait, 0.002, c.softirq - 0.002, c.steal];
        let both_cpus_us = 2.0 * step as f64 / 1e3;
        for (i, (used, share)) in used.iter_mut().zip(shares).enumerate() {
            *used += both_cpus_us * share * (1.0 + 0.2 * wobble(at + i as u64));
        }
        let names = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
        let values =
            names.iter().zip(used).map(|(name, used)| (format!("machine.stat.cpu.{name}"), used)).collect();
        samples.push(Sample { at_ns: BOOTED_NS + at, values });
    }
    samples
}

/// A trial from the first phase to the last.
pub(crate) fn record(number: u32, fate: Fate, hz: u32) -> TrialRecord {
    let mut at = 0;
    let mut phases = Vec::new();
    let mut spans = Vec::new();
    for (i, plan) in fate.plan().into_iter().enumerate() {
        let record = phase_record(&plan, at, u64::from(number) * 1000 + i as u64);
        spans.push((plan, record.start_ns, record.end_ns));
        at = record.end_ns + SECOND / 10;
        phases.push(record);
    }
    let samples = series(&spans, hz);
    TrialRecord {
        mail: Vec::new(),
        number,
        block: number,
        cell: BTreeMap::new(),
        phases,
        deep: Vec::new(),
        series: BTreeMap::from([
            ("client".into(), samples.clone()),
            ("firewall".into(), samples.clone()),
            ("firewall'".into(), samples),
        ]),
        sampling: SamplingCost { samples: 330, cpu_us: 21_000, elapsed_us: 41_000_000 },
        faults: Vec::new(),
        last_words: BTreeMap::new(),
        setup_us: 142_000,
        teardown_us: 61_000,
    }
}

fn trial_report(record: &TrialRecord, fate: Fate) -> TrialReport {
    let plans = fate.plan();
    let mut phases = Vec::new();
    for (phase, plan) in record.phases.iter().zip(&plans) {
        for arm in [Arm::Treatment, Arm::Control] {
            let slices: Vec<_> = phase.slices.iter().filter(|s| s.arm == arm).collect();
            if slices.is_empty() {
                continue;
            }
            let connections: u64 = slices.iter().map(|s| s.result.connections).sum();
            let seconds = slices.iter().map(|s| s.result.elapsed_ns).sum::<u64>() as f64 / 1e9;
            let flooded = phase.kind == PhaseKind::Drive;
            let control =
                Plan { remaining: 1.0, name: "", kind: plan.kind, cycle: 0, rung: None, seconds: 0.0 };
            phases.push(PhaseReport {
                name: phase.name.clone(),
                kind: phase.kind,
                cycle: phase.cycle,
                arm,
                rung: phase.rung,
                connections,
                connections_per_second: connections as f64 / seconds,
                requests_per_second: connections as f64 / seconds,
                bits_per_second: 0.0,
                packets_per_second: None,
                loss_share: None,
                commands_us: BTreeMap::new(),
                disks: BTreeMap::new(),
                io_pressure_us: None,
                written_back_bytes: None,
                flushes: BTreeMap::new(),
                megabytes_per_second: 0.0,
                figures: BTreeMap::new(),
                rate: None,
                facts: None,
                latency_us: slices[0].result.latency.percentiles,
                errors: if flooded {
                    BTreeMap::from([(ErrorKind::Reset, 12), (ErrorKind::ConnectTimeout, 3)])
                } else {
                    BTreeMap::new()
                },
                offer: None,
                cpu: Some(cpu(if arm == Arm::Treatment { plan } else { &control })),
                start_s: phase.start_ns as f64 / 1e9,
                end_s: phase.end_ns as f64 / 1e9,
            });
        }
    }
    TrialReport {
        number: record.number,
        block: record.block,
        cell: record.cell.clone(),
        phases,
        events: Vec::new(),
        mail: Vec::new(),
        mail_minutes: Vec::new(),
        vmstat: record.phases.iter().map(vmstat).collect(),
        faults: record.faults.clone(),
        setup_ms: record.setup_us as f64 / 1e3,
        teardown_ms: record.teardown_us as f64 / 1e3,
    }
}

/// A machine that is busy while something runs.
fn vmstat(phase: &PhaseRecord) -> VmstatReport {
    VmstatReport {
        phase: phase.name.clone(),
        kind: phase.kind,
        cycle: phase.cycle,
        host: "client".into(),
        seconds: (phase.end_ns - phase.start_ns) as f64 / 1e9,
        r: 3.25,
        b: 0.1,
        free_bytes: 12_345_678_900.0,
        interrupts_per_second: 12_345.6,
        context_switches_per_second: 98_765.4,
        user: 0.25,
        system: 0.5,
        idle: 0.2,
        iowait: 0.05,
        steal: 0.0,
    }
}

fn finding(
    outcome: Outcome,
    estimate: Option<f64>,
    interval: Option<Interval>,
    n: usize,
    reason: &str,
    details: RecoveryDetails,
) -> Finding {
    let verdict = Verdict {
        claim: "recovery".into(),
        metric: "connections_per_second".into(),
        outcome,
        estimate,
        interval,
        confidence: 0.95,
        n,
        reason: reason.into(),
        expected: None,
        holds: None,
    };
    Finding { claim_number: Some(1), ..Finding::new(verdict, details) }
}

/// What nobody watched: the claim alone.
fn unseen() -> RecoveryDetails {
    RecoveryDetails {
        cell: BTreeMap::new(),
        margin: 0.05,
        time_to_recover_s: None,
        time_to_recover_each_s: Vec::new(),
        cycles: Vec::new(),
        trend_tau: None,
        trend_p: None,
    }
}

/// A run without a trial.
pub(crate) fn empty() -> RunReport {
    let host = |name: &str, services: &[&str], loads: &[&str]| HostReport {
        name: name.into(),
        kind: HostKind::Namespace,
        services: services.iter().map(ToString::to_string).collect(),
        loads: loads.iter().map(ToString::to_string).collect(),
    };
    RunReport {
        schema: RUN_SCHEMA.into(),
        run: "20260301-120000-flood-relay".into(),
        experiment: "flood-relay".into(),
        question: "Does a relay that forks for each connection come back after a flood?".into(),
        status: RunStatus::Complete,
        seed: 42,
        rerun_command: ["plimsoll", "run", "flood-relay", "--seed", "42"].map(ToOwned::to_owned).into(),
        started_unix_s: 1_772_366_400,
        elapsed_s: 0.0,
        environment: environment(),
        aa_test: None,
        verdicts: Vec::new(),
        troubles: Vec::new(),
        remedies: Vec::new(),
        state_lives_in: None,
        causes: Vec::new(),
        evidence: Vec::new(),
        profile: None,
        packets: Vec::new(),
        hosts: vec![
            host("client", &[], &["sequential", "flood"]),
            host("firewall", &["relay"], &[]),
            host("server", &["web"], &[]),
        ],
        trials: Vec::new(),
        sampling: SamplingCost::default(),
        notes: Vec::new(),
    }
}

/// A small machine, two links, and a file.
fn environment() -> Environment {
    let link = |a: &str, b: &str, there: &str, back: &str| LinkReport {
        between: [a.into(), b.into()],
        there: there.into(),
        back: back.into(),
    };
    Environment {
        plimsoll: Some("0.1.0".into()),
        machines: vec![Machine {
            hosts: vec!["client".into(), "firewall".into(), "server".into()],
            kernel: Some("6.12.9-amd64".into()),
            compiler: Some("gcc-14 14.2.0, GNU ld 2.44".into()),
            command_line: Some("root=/dev/vda1 quiet".into()),
            os: Some("Debian GNU/Linux 13 (trixie)".into()),
            cpu: Some("Example CPU @ 2.20GHz".into()),
            cpus: 4,
            memory_bytes: 16 << 30,
            swap_bytes: 0,
            virtualization: Some("KVMKVMKVM".into()),
            changed_sysctls: [("net.core.somaxconn".to_owned(), "8192".to_owned())].into(),
            inventory: serde_json::json!({ "schema": "plimsoll.inventory/1" }),
        }],
        programs: [(
            "web".to_owned(),
            ProgramVersion { path: "/usr/sbin/nginx".into(), version: Some("1.26.3".into()) },
        )]
        .into(),
        links: vec![
            link("client", "firewall", "", ""),
            link("firewall", "server", "rate 100Mbit, delay 5ms", "rate 10Mbit, delay 5ms"),
        ],
        sysctls: [("firewall".to_owned(), [("net.ipv4.tcp_tw_reuse".to_owned(), "1".to_owned())].into())]
            .into(),
        experiment: "question = \"a ``` b?\"\n[hosts.client]\n".into(),
        settings: vec!["--quick".into()],
    }
}

/// A run whose packets were captured, of which one stream waited for acknowledgements.
pub(crate) fn captured() -> RunReport {
    let stall = |class, share, count, median_ms| StallReport {
        class,
        share,
        count,
        median_ms,
        evidence: "1000 bytes in flight were acknowledged after 40.1 ms <of silence>".into(),
    };
    let packets = |level: &str, stalls: Vec<StallReport>, dropped| PacketReport {
        cell: [("sender".to_owned(), level.to_owned())].into(),
        phase: "transfer".into(),
        arm: Arm::Treatment,
        host: "client".into(),
        trials: 3,
        connections: 6,
        lifetime_s: 12.5,
        packets: 120_400,
        dropped,
        main_class: stalls.first().map(|stall| stall.class),
        stalls,
        kernel: Some(LimitedTimes { busy_s: 10.0, window_limited_s: 2.5, buffer_limited_s: 0.0 }),
        files: vec!["captures/r/001-transfer-client-eth0.pcapng".into()],
        errors: Vec::new(),
    };
    let acks = vec![stall(Class::DelayedAck, 0.81, 250, 40.1), stall(Class::Rto, 0.02, 1, 204.0)];
    RunReport {
        packets: vec![packets("steady", Vec::new(), 0), packets("write_write_read", acks, 17)],
        ..empty()
    }
}

/// A connection to draw: so many bytes, with a stall in the middle.
pub(crate) fn time_sequence(place: &str) -> TimeSequence {
    let stall = Stall {
        start_s: 1.0,
        length_ms: 40.0,
        class: Class::DelayedAck,
        may_be: None,
        waiting_for: Actor::Server,
        evidence: "<b>acknowledged</b> after 40 ms".into(),
    };
    let direction = |bytes| DirectionReport { bytes, ..DirectionReport::default() };
    let connection = ConnectionReport {
        client: "10.0.0.1:40000".into(),
        server: "10.0.0.2:80".into(),
        start_s: 0.5,
        duration_s: 1.5,
        packets: 300,
        bytes: 300_000,
        rate_bytes_per_s: Some(200_000.0),
        rtt_ms: Some(1.5),
        rtt_min_ms: Some(1.0),
        handshake: HandshakeReport::default(),
        from_client: direction(300_000),
        from_server: direction(0),
        stalled_s: 0.04,
        stall_count: 1,
        stalls: vec![stall],
    };
    let line = |up: f64| vec![(0.5, up), (1.0, 1000.0 + up), (1.04, 1000.0 + up), (2.0, 300_000.0 + up)];
    let from_client = Way {
        sent: line(0.0),
        resent: vec![(1.5, 2000.0)],
        acked: line(0.0),
        window: line(65_535.0),
        rate: vec![(0.5, 2000.0), (1.25, 398_000.0)],
        rtt_ms: vec![(0.6, 1.1), (1.04, 40.0)],
    };
    TimeSequence { place: place.into(), connection, from_client, from_server: Way::default() }
}

/// A packet file with that connection.
pub(crate) fn trace() -> TraceReport {
    TraceReport {
        schema: TRACE_SCHEMA.into(),
        format: "pcapng".into(),
        packets: 310,
        bytes: 320_000,
        dropped: Some(2),
        missing: vec!["2 packets that the capture <lost>".into()],
        tcp_connections: 1,
        udp_flows: 3,
        connections: vec![time_sequence("").connection],
        lifetime_s: 1.5,
        time_share: [(Class::DelayedAck, 0.04 / 1.5)].into(),
        may_be_share: BTreeMap::new(),
    }
}

/// A run with so many trials of one fate, and no verdict yet.
pub(crate) fn measured(fate: Fate, trials: u32) -> RunReport {
    let each = |n| trial_report(&record(n, fate, 2), fate);
    RunReport {
        elapsed_s: 41.0 * f64::from(trials),
        trials: (1..=trials).map(each).collect(),
        sampling: SamplingCost {
            samples: 330 * u64::from(trials),
            cpu_us: 21_000 * u64::from(trials),
            elapsed_us: 41_000_000 * u64::from(trials),
        },
        ..empty()
    }
}

fn cycles(trials: u32, ratio: impl Fn(u32) -> f64) -> Vec<CycleRatio> {
    let of = |trial: u32, cycle: u32| {
        let ratio = ratio(cycle) * (1.0 + 0.01 * wobble(u64::from(trial * 10 + cycle)));
        CycleRatio { trial, cycle, ratio, interval: Some(Interval(ratio * 0.975, ratio * 1.024)) }
    };
    (1..=trials).flat_map(|t| (1..=4).map(move |c| (t, c))).map(|(t, c)| of(t, c)).collect()
}

/// The firewall comes back after every flood.
pub(crate) fn recovered() -> RunReport {
    let reason = "the interval lies above 0.95, the margin, and the control did not move";
    let details = RecoveryDetails {
        time_to_recover_s: Some(0.8),
        time_to_recover_each_s: vec![Some(0.7), Some(0.8), Some(0.8), Some(0.9)],
        cycles: cycles(1, |_| 1.0),
        trend_tau: Some(0.0),
        trend_p: Some(1.0),
        ..unseen()
    };
    let interval = Some(Interval(0.976, 1.012));
    RunReport {
        verdicts: vec![finding(Outcome::Recovered, Some(0.994), interval, 4, reason, details)],
        ..measured(Fate::Recovers, 1)
    }
}

/// The firewall's kernel keeps a rule for every connection: only a new host is as fast as before.
pub(crate) fn not_recovered() -> RunReport {
    let reason = "the whole interval lies below 0.95, the margin";
    let remedy = |rung, estimate: f64, outcome| RemedyResult {
        rung,
        outcome,
        estimate: Some(estimate),
        interval: Some(Interval(estimate * 0.97, estimate * 1.03)),
        reason: String::new(),
    };
    let remedies = RUNGS.map(|(rung, remaining)| {
        let restored = remaining > 0.95;
        remedy(rung, remaining, if restored { Outcome::Recovered } else { Outcome::NotRecovered })
    });
    let details = RecoveryDetails {
        time_to_recover_each_s: vec![None; 12],
        cycles: cycles(3, |c| Fate::Leaks.remaining(c)),
        trend_tau: Some(-0.92),
        trend_p: Some(0.000_04),
        ..unseen()
    };
    let interval = Some(Interval(0.298, 0.329));
    RunReport {
        verdicts: vec![finding(Outcome::NotRecovered, Some(0.313), interval, 12, reason, details)],
        remedies: remedies.into(),
        state_lives_in: Some(StateLivesIn::HostKernel),
        causes: causes(),
        evidence: evidence(),
        profile: Some(profile()),
        notes: vec![
            "Slab sizes were read as root on this machine and count all namespaces together."
                .to_owned()
                .into(),
        ],
        ..measured(Fate::Leaks, 3)
    }
}

fn causes() -> Vec<Cause> {
    let evidence = |metric: &str, before, after, unit: &str| CauseEvidence {
        metric: metric.into(),
        before,
        after,
        unit: unit.into(),
    };
    vec![Cause {
        rank: 1,
        id: CauseId::KernelStateGrows,
        title: CauseId::KernelStateGrows.title().into(),
        confidence: 0.93,
        evidence: vec![
            evidence("rules on firewall", 3.0, 25_003.0, "rules"),
            evidence("CPU time in softirq on firewall", 12.1, 61.3, "µs/connection"),
        ],
        remedy: "Find what adds a routing-policy rule for each connection, and make it remove them.".into(),
        confirmed: true,
    }]
}

/// The relay's stacks before and after: a walk over rules of routing policy, in the relay itself and in softirqs.
pub(crate) fn stacks() -> [Profile; 2] {
    let frames = |kind, names: &str| -> Vec<Frame> {
        names.split_ascii_whitespace().map(|name| Frame::new(kind, name)).collect()
    };
    [[30, 20, 400, 12], [4100, 1900, 420, 11]].map(|[walk, softirq, copy, other]| {
        let mut profile = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, 199);
        let relay =
            || vec![Frame::new(FrameKind::Host, "firewall"), Frame::new(FrameKind::Process, "relay<br>")];
        let stacks = [
            ([relay(), frames(FrameKind::Kernel, "do_syscall_64 tcp_v4_connect fib_rules_lookup")], walk),
            ([relay(), frames(FrameKind::User, "relay::copy")], copy),
            (
                [
                    frames(FrameKind::Shared, "softirq"),
                    frames(FrameKind::Kernel, "net_rx_action fib_rules_lookup"),
                ],
                softirq,
            ),
            ([frames(FrameKind::Others, "machine cron"), frames(FrameKind::User, "main")], other),
        ];
        stacks.iter().for_each(|(stack, samples)| profile.add(stack.iter().flatten(), *samples));
        profile.build()
    })
}

fn profile() -> ProfileReport {
    let side = |samples, cpu_us, kernel_us, idle| ProfileSide {
        samples,
        lost: 0,
        idle: Some(idle),
        operations: 12_000,
        cpu_us,
        kernel_us,
    };
    let walk = GrownFunction {
        function: "fib_rules_lookup".into(),
        kind: FrameKind::Kernel,
        before_us: 20.9,
        after_us: 2_513.0,
        share: 0.997,
        owner: vec!["firewall".into(), "relay".into()],
        called_by: ["do_syscall_64", "__sys_connect", "tcp_v4_connect", "ip_route_output_flow"]
            .map(Into::into)
            .into(),
    };
    ProfileReport {
        clock: ProfileClock::CpuClock,
        hertz: 199,
        per: "connection".into(),
        before: side(462, 193.5, 20.9, 0.62),
        after: side(6431, 2_693.0, 2_513.0, 0.01),
        control: Some([side(430, 180.1, 20.2, 0.63), side(439, 183.7, 20.4, 0.63)]),
        grew: true,
        narrowest: Some(walk.clone()),
        functions: vec![walk],
        calls: Vec::new(),
        own_syncs_per_s: 0.0,
        waits: Vec::new(),
        failures: Vec::new(),
        block_io: Vec::new(),
        cpu_use: Vec::new(),
        throttling: Vec::new(),
        io_limits: Vec::new(),
    }
}

fn evidence() -> Vec<Evidence> {
    let evidence = |host: &str, metric: &str, before, after, unit: &str, shift, control| Evidence {
        host: host.into(),
        metric: metric.into(),
        before,
        after,
        unit: unit.into(),
        shift,
        control_ratio: control,
    };
    vec![
        evidence("firewall", "rules (level)", 3.0, 25_003.0, "", 1.0, Some(1.0)),
        evidence("firewall", "machine.stat.cpu.softirq (per connection)", 12.1, 61.3, "µs", 1.0, Some(1.02)),
        evidence("firewall", "machine.slab.fib6_nodes.bytes (level)", 0.0, 4_915_200.0, "B", 1.0, None),
        evidence("firewall", "machine.stat.ctxt (per connection)", 9.2, 14.8, "", 0.88, Some(0.99)),
        evidence("server", "netstat.TcpExt.TCPTimeouts (per connection)", 0.02, 0.0, "", -0.4, Some(1.0)),
        evidence("client", "machine.stat.cpu.user (per connection)", 171.0, 49.0, "µs", -0.97, Some(1.01)),
    ]
}

/// The interval covers the margin.
pub(crate) fn undecided() -> RunReport {
    let reason =
        "the interval reaches from below the margin of 0.95 to above it; about 9 more trials would tell";
    let interval = Some(Interval(0.918, 1.004));
    RunReport {
        verdicts: vec![finding(Outcome::Undecided, Some(0.961), interval, 2, reason, unseen())],
        ..measured(Fate::Recovers, 2)
    }
}

/// The service died in the middle of the flood.
pub(crate) fn invalid() -> RunReport {
    let what = "relay on firewall was killed by signal 9 (SIGKILL)";
    let fault = Fault { phase: "flood".into(), kind: FaultKind::ServiceDied, what: what.into() };
    let mut report = RunReport {
        verdicts: vec![finding(Outcome::Invalid, None, None, 0, what, unseen())],
        ..measured(Fate::Recovers, 1)
    };
    report.trials[0].faults.push(fault);
    report
}

/// Ctrl-C in the second trial.
pub(crate) fn interrupted() -> RunReport {
    RunReport { status: RunStatus::Interrupted, ..measured(Fate::Recovers, 1) }
}

/// What a name may not do, in every name.
pub(crate) const HOSTILE: &str = "<img src=x onerror=alert(1)></script>\u{1b}[2J|`%{x}&\"'";

/// [`not_recovered`] with [`HOSTILE`] wherever the model has free text.
pub(crate) fn hostile() -> RunReport {
    let mut report = not_recovered();
    let evil = || HOSTILE.to_owned();
    for text in [&mut report.run, &mut report.experiment, &mut report.question] {
        *text = evil();
    }
    report.notes = vec![evil().into()];
    for finding in &mut report.verdicts {
        finding.verdict.reason = evil();
        finding.verdict.metric = evil();
    }
    for host in &mut report.hosts {
        host.name = evil();
        host.services = vec![evil()];
    }
    for evidence in &mut report.evidence {
        evidence.host = evil();
        evidence.metric = evil();
        evidence.unit = evil();
    }
    for cause in &mut report.causes {
        cause.title = evil();
        cause.remedy = evil();
    }
    for trial in &mut report.trials {
        trial.cell = BTreeMap::from([(evil(), evil())]);
        trial.phases.iter_mut().for_each(|phase| phase.name = evil());
        trial.faults = vec![Fault { phase: evil(), kind: FaultKind::Deadline, what: evil() }];
    }
    report
}

/// The records of [`hostile`].
pub(crate) fn hostile_record() -> TrialRecord {
    let mut record = record(1, Fate::Leaks, 2);
    record.cell = BTreeMap::from([(HOSTILE.to_owned(), HOSTILE.to_owned())]);
    record.phases.iter_mut().for_each(|phase| phase.name = HOSTILE.to_owned());
    record.series = record.series.into_values().take(1).map(|s| (HOSTILE.to_owned(), s)).collect();
    record
}
