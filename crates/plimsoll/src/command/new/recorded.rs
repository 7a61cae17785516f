//! An experiment that rebuilds what a recording saw, as far as it saw it. Its comments say of each value whether it was recorded or assumed.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_assess::watched::{self, State};
use plimsoll_judge::stats::median;
use plimsoll_probe::busiest::{Connection, Listener};
use plimsoll_report::figure;

use super::write::{Text, quoted};
use crate::failure::Failure;
use crate::recording::{self, Part, Recording};

/// Rules and routes that a host of the lab has by itself.
const USUAL: f64 = 20.0;
/// The most that a shell adds in a reasonable time.
const MOST_STATE: f64 = 200_000.0;
/// A shorter round trip needs no emulated delay, in microseconds.
const LEAST_RTT_US: f64 = 2_000.0;
/// The rate that stands for an unknown one, per second.
const ASSUMED_RATE: f64 = 100.0;
/// More connections per second than a load can open, one connection for ten of them at a time.
const MOST_RATE: f64 = 1e6;
/// Limits that decide what becomes of connections, changed or not.
const LIMITS: [&str; 4] = [
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
];
/// Settings of TCP that the whole machine has in common.
const OF_MACHINE: [&str; 3] = ["net.ipv4.tcp_mem", "net.ipv4.tcp_max_orphans", "net.ipv4.tcp_low_latency"];

/// State and counters of a server and its clients, from a recording.
struct Situation {
    state: State,
    /// Of each counter the value at the beginning and at the end.
    counters: BTreeMap<String, [f64; 2]>,
    seconds: f64,
    listener: Option<Listener>,
    rtt_us: Option<f64>,
}

/// The question in one sentence.
pub(super) const QUESTION: &str = "Does the lab show what the recording saw?";

/// The text of the experiment. `good` is the bound of a good result.
pub(super) fn experiment(path: &Path, good: Option<&str>) -> Result<String, Failure> {
    let recording = recording::read(path)?;
    let situation = Situation::of(&recording)
        .ok_or_else(|| Failure::Usage(format!("{}: {}", path.display(), recording.too_short())))?;
    let (rate, what) = situation.connections();
    // A NaN is no rate either.
    if !(0.0..=MOST_RATE).contains(&rate) {
        return Err(Failure::Usage(format!(
            "{}: {} connections per second were {what} according to its counters; a load opens at most {}",
            path.display(),
            figure(rate),
            figure(MOST_RATE)
        )));
    }
    let mut text = Text::default();
    heading(&mut text, path, &recording, &situation);
    hosts(&mut text, &recording, &situation);
    service_and_load(&mut text, &situation);
    text.part(match good {
        Some(_) => "The bound of a good result.",
        None => "Assumed: the bound of a good result. `--good` sets another.",
    });
    text.line(&format!(
        "[[claims]]\nlimit = {{ metric = \"p90_ms\", below = {} }}",
        quoted(good.unwrap_or("50ms"))
    ));
    text.line("\n[run]\nmin_trials = 1\nmax_trials = 3");
    text.line("\n[quick]\n\"loads.clients.http.duration\" = \"500ms\"\n\"run.max_trials\" = 1");
    Ok(text.into_string())
}

fn heading(text: &mut Text, path: &Path, recording: &Recording, situation: &Situation) {
    let header = &recording.header;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    text.comment(&format!(
        "Written by `plimsoll new` from the recording {name}: {}, {:.0} s.",
        [&header.host, &header.kernel].map(String::as_str).join(", Linux ").trim_start_matches(", "),
        situation.seconds
    ));
    text.comment("`Recorded` marks what comes from it. All else is `Assumed`, and yours to change.");
    if header.redacted {
        text.comment("The recording is redacted. Names and addresses are missing; no value depends on them.");
    }
    for cause in &situation.state.causes {
        text.comment(&format!(
            "Recorded: a sign of {}: {}.",
            cause.id.id(),
            cause.title.trim_end_matches('.')
        ));
    }
    text.line(&format!("question = {}", quoted(QUESTION)));
}

fn hosts(text: &mut Text, recording: &Recording, situation: &Situation) {
    text.line("\n[hosts.client]\n\n[hosts.server]");
    let memory = situation.state.memory_total.unwrap_or(0.0);
    text.comment(&format!(
        "Recorded: {} CPUs, {:.1} GiB of memory. `cpus = N` and `memory = \"SIZE\"` confine this host.",
        situation.state.cpus,
        memory / f64::from(1 << 30)
    ));
    settings(text, recording, situation);
    state(text, situation);
    text.line("\n[[links]]\nbetween = [\"client\", \"server\"]");
    match situation.rtt_us {
        Some(rtt) if rtt >= LEAST_RTT_US => {
            text.comment("Recorded: half of the median round-trip time of the busiest connections.");
            text.line(&format!("delay = \"{:.0}us\"", rtt / 2.0));
        }
        Some(rtt) => text.comment(&format!(
            "Recorded: a round trip takes {} µs, so that the link delays nothing.",
            figure(rtt)
        )),
        None => text.comment("Assumed: the link delays nothing. No connection moved bytes."),
    }
}

/// Settings that a host has to itself; those of the whole machine as comments.
fn settings(text: &mut Text, recording: &Recording, situation: &Situation) {
    let mut own: BTreeMap<&str, String> = BTreeMap::new();
    for name in LIMITS {
        let parts = ["", ".2", ".3"].map(|part| situation.last(&format!("limit.{name}{part}")));
        let parts: Vec<String> = parts.into_iter().flatten().map(|value| format!("{value:.0}")).collect();
        if !parts.is_empty() {
            own.insert(name, parts.join(" "));
        }
    }
    let inventory = recording.parts.iter().find_map(|part| match part {
        Part::Inventory(inventory) => Some(inventory),
        _ => None,
    });
    let changed = inventory.map(|it| &it.sysctls).into_iter().flatten();
    let (of_host, of_machine): (Vec<_>, Vec<_>) = changed.partition(|(name, _)| is_of_a_host(name));
    own.extend(of_host.into_iter().map(|(name, setting)| (name.as_str(), setting.value.clone())));
    if inventory.is_none() {
        text.comment("Missing: settings. `watch --record` does not keep them, and `record` does.");
    }
    if !own.is_empty() {
        text.part("Recorded: settings that are not the kernel's defaults, and limits of connections.");
        text.line("[hosts.server.sysctls]");
        for (name, value) in own {
            text.line(&format!("{} = {}", quoted(name), quoted(&value.replace('\t', " "))));
        }
    }
    if !of_machine.is_empty() {
        text.comment(
            "Recorded: settings of the whole machine. As root, add those that `run` may change here while it measures.",
        );
        for (name, setting) in of_machine {
            text.comment(&format!("{} = {}", quoted(name), quoted(&setting.value.replace('\t', " "))));
        }
    }
}

/// Whether each network namespace has the setting to itself.
fn is_of_a_host(name: &str) -> bool {
    let of_tcp = name.starts_with("net.ipv4.tcp_") && !OF_MACHINE.contains(&name);
    of_tcp || LIMITS.contains(&name) || name == "net.ipv4.ip_forward"
}

/// Rules and routes, as many as there were.
fn state(text: &mut Text, situation: &Situation) {
    const STATE: [(&str, &str, &str, &str); 3] = [
        (
            "rules.nftables",
            "filter",
            "rules of nftables. Assumed: a packet passes all of them, and none applies",
            "{ echo add table ip t; echo 'add chain ip t c { type filter hook input priority 0; }'; i=0; while [ $i -lt $COUNT ]; do i=$((i+1)); echo add rule ip t c tcp sport 1 counter drop; done; } | nft -f -",
        ),
        (
            "rules",
            "routing-rules",
            "routing rules. Assumed: each is looked at for every packet, and none applies",
            "i=0; while [ $i -lt $COUNT ]; do i=$((i+1)); echo rule add from 203.0.113.1 fwmark $i table 250; done | ip -batch -",
        ),
        (
            "routes",
            "routes",
            "routes. Assumed: single addresses that nobody asks for",
            "i=0; while [ $i -lt $COUNT ]; do i=$((i+1)); echo route add blackhole 100.$((64+i/65536)).$((i/256%256)).$((i%256)); done | ip -batch -",
        ),
    ];
    for (counter, name, what, script) in STATE {
        let Some(count) = situation.last(counter).filter(|count| *count > USUAL) else { continue };
        let count = count.min(MOST_STATE);
        text.part(&format!("Recorded: {count:.0} {what}. The program needs `--allow privileged`."));
        text.comment(&format!(
            "A factor tests the suspicion: set = \"hosts.server.prepare.{name}.skip\", levels = [false, true]."
        ));
        text.line("[[hosts.server.prepare]]");
        text.line(&format!("name = \"{name}\"\ncommand = [\"sh\", \"-c\", {}]", quoted(script)));
        text.line(&format!("env = {{ COUNT = \"{count:.0}\" }}\nprivileged = true"));
    }
}

fn service_and_load(text: &mut Text, situation: &Situation) {
    let (rate, what) = situation.connections();
    let is_known = rate >= 1.0;
    let rate = if is_known { rate } else { ASSUMED_RATE };
    let established = situation.last("tcp.established").or_else(|| situation.last("snmp.Tcp.CurrEstab"));
    let concurrency = established.unwrap_or(0.0).clamp(1.0, 100_000.0);
    text.part("Assumed: the server speaks HTTP and waits for events. For another program: `exec`.");
    let document = situation.bytes_sent().filter(|_| is_known).map(|sent| (sent / rate).clamp(1.0, 1e8));
    text.comment(&match document {
        Some(bytes) => format!("Recorded: {bytes:.0} bytes sent for each connection are the document."),
        None => "Assumed: the size of the document. No connections were counted.".to_owned(),
    });
    let backlog = situation.listener.as_ref().map(|listener| listener.backlog.clamp(1, 65_535));
    text.comment(&match (&situation.listener, backlog) {
        (Some(listener), Some(backlog)) => {
            let port = listener.local.rsplit(':').next().unwrap_or_default();
            format!(
                "Recorded: the listen queue of port {port} holds {backlog}; up to {} waited.",
                listener.waiting
            )
        }
        _ => "Assumed: the listen queue. No listening socket was recorded.".to_owned(),
    });
    if let Some(busy) = situation.state.cpu_busy.filter(|_| is_known) {
        let us = busy * situation.state.cpus as f64 * 1e6 / rate;
        text.comment(&format!(
            "Recorded: the machine used {} µs of CPU for each connection. `work = \"TIME\"` makes each request cost as much.",
            figure(us)
        ));
    }
    text.line(&format!(
        "[services.web]\non = \"server\"\nweb = {{ model = \"event_loop\", clients = {}, document = \"{:.0}\", backlog = {} }}",
        concurrency.mul_add(2.0, 100.0).min(10_000.0).ceil(),
        document.unwrap_or(1024.0),
        backlog.unwrap_or(511)
    ));
    text.part(&if is_known {
        format!("Recorded: {} connections per second were {what}. Assumed: they come at random.", figure(rate))
    } else {
        format!("Assumed: the rate. Fewer than one connection per second was accepted or opened. {ASSUMED_RATE} stand for it.")
    });
    text.comment(&format!(
        "Recorded: {} established connections; `concurrency` is the most at a time.",
        figure(established.unwrap_or(0.0))
    ));
    if let Some(lifetime) = established.filter(|_| is_known).map(|established| established / rate) {
        text.comment(&format!(
            "Recorded: a connection lasts {} s (Little's law). Assumed: clients that think meanwhile send one request; `requests_per_connection` sends more.",
            figure(lifetime)
        ));
    }
    text.line(&format!(
        "[loads.clients]\nfrom = \"client\"\nto = \"web\"\nhttp = {{ duration = \"2s\", timeout = \"5s\", concurrency = {:.0}, open = {{ rate = {}, arrivals = \"poisson\" }} }}",
        // Connections that wait for a place are late, so that there have to be enough places.
        concurrency.max((rate / 10.0).ceil()).max(10.0),
        rate_of(rate)
    ));
    text.line("\n[[phases]]\nname = \"traffic\"\nmeasure = \"clients\"\nslices = 5");
}

/// A rate in three digits, as TOML takes it.
fn rate_of(rate: f64) -> f64 {
    let step = 10f64.powf(rate.log10().floor() - 2.0);
    let rounded = (rate / step).round() * step;
    (rounded * 1e3).round() / 1e3
}

impl Situation {
    fn of(recording: &Recording) -> Option<Self> {
        let state = watched::alone(&recording.moments)?;
        let mut counters: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for (name, value) in recording.moments.iter().flat_map(|moment| &moment.counters.values) {
            counters.entry(name.clone()).and_modify(|both| both[1] = *value).or_insert([*value, *value]);
        }
        let at_ns = |moment: &watched::Moment| moment.counters.at_ns;
        let (first, last) = (recording.moments.first().map(at_ns)?, recording.moments.last().map(at_ns)?);
        let (listener, rtt_us) = sockets(recording);
        let seconds = last.saturating_sub(first) as f64 / 1e9;
        Some(Self { state, counters, seconds, listener, rtt_us })
    }

    fn last(&self, name: &str) -> Option<f64> {
        self.counters.get(name).map(|[_, last]| *last)
    }

    fn rate(&self, name: &str) -> Option<f64> {
        let [first, last] = self.counters.get(name)?;
        Some((last - first).max(0.0) / self.seconds)
    }

    /// Connections per second, and what was done with them: a server accepts them, a client opens them.
    fn connections(&self) -> (f64, &'static str) {
        let accepted = self.rate("snmp.Tcp.PassiveOpens").unwrap_or(0.0);
        let opened = self.rate("snmp.Tcp.ActiveOpens").unwrap_or(0.0);
        if accepted >= 1.0 { (accepted, "accepted") } else { (opened, "opened") }
    }

    /// Bytes that programs sent by IP in a second, without the headers of their segments (20 for IP, 32 for TCP with time stamps).
    fn bytes_sent(&self) -> Option<f64> {
        let headers = 52.0 * self.rate("snmp.Tcp.OutSegs")?;
        Some((self.rate("netstat.IpExt.OutOctets")? - headers).max(0.0))
    }
}

/// The listening socket of the busiest connections, else the fullest; and the median round-trip time of the connections.
fn sockets(recording: &Recording) -> (Option<Listener>, Option<f64>) {
    let looks = recording.parts.iter().filter_map(|part| match part {
        Part::Sockets(at) => Some(&at.look),
        _ => None,
    });
    let port = |local: &str| local.rsplit(':').next().unwrap_or_default().to_owned();
    let mut busiest: Vec<&Connection> = looks.clone().flat_map(|look| &look.busiest).collect();
    busiest.sort_by_key(|connection| std::cmp::Reverse(connection.moved_bytes));
    let mut listeners: Vec<&Listener> = looks.flat_map(|look| &look.listeners).collect();
    listeners.sort_by(|a, b| b.fullness().total_cmp(&a.fullness()));
    let of_busiest = busiest.iter().find_map(|connection| {
        listeners.iter().find(|listener| port(&listener.local) == port(&connection.local))
    });
    let rtts: Vec<f64> = busiest.iter().map(|connection| f64::from(connection.rtt_us)).collect();
    let rtt = (!rtts.is_empty()).then(|| median(&rtts));
    (of_busiest.or(listeners.first()).map(|listener| (*listener).clone()), rtt)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::Snapshot;
    use plimsoll_probe::busiest::TcpLook;

    use crate::recording::{Header, SocketsAt, Writer};

    use super::*;

    #[test]
    fn a_rate_keeps_three_digits() {
        assert_eq!([1234.5, 99.96, 1.234, 7.0].map(rate_of), [1230.0, 100.0, 1.23, 7.0]);
    }

    /// Ten seconds of a web server with rules, and a look at its sockets.
    fn recorded() -> Recording {
        let moment = |second: u64| {
            let count = |rate: f64| rate * second as f64;
            let values = [
                ("snmp.Tcp.PassiveOpens", count(250.0)),
                ("snmp.Tcp.OutSegs", count(1000.0)),
                ("netstat.IpExt.OutOctets", count(52_000.0 + 250.0 * 12_345.0)),
                ("machine.stat.cpu.user", count(0.5e6)),
                ("machine.stat.cpu.idle", count(0.5e6)),
                ("machine.stat.cpu0.user", count(0.5e6)),
                ("limit.net.core.somaxconn", 128.0),
                ("limit.net.ipv4.ip_local_port_range", 32_768.0),
                ("limit.net.ipv4.ip_local_port_range.2", 32_867.0),
                ("rules.nftables", 5003.0),
                ("routes", 14.0),
                ("tcp.established", 40.0),
            ];
            let values = values.map(|(name, value)| (name.to_owned(), value)).into();
            let counters = Snapshot { at_ns: second * 1_000_000_000, values };
            watched::Moment { at_unix_ms: second * 1000, counters, processes: None }
        };
        let connection = Connection {
            local: "address-1:443".to_owned(),
            moved_bytes: 9000,
            rtt_us: 30_000,
            ..Connection::default()
        };
        let listener = |port: u16, waiting| Listener {
            local: format!("address-1:{port}"),
            waiting,
            backlog: 100,
            namespace: None,
        };
        let look = TcpLook { busiest: vec![connection], listeners: vec![listener(22, 9), listener(443, 3)] };
        Recording {
            moments: (1..=10).map(moment).collect(),
            parts: vec![Part::Sockets(SocketsAt { at_unix_ms: 5000, look })],
            ..Recording::default()
        }
    }

    /// The experiment that a file with this recording gives.
    fn written(recording: &Recording) -> Result<String, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.jsonl.gz");
        let header = Header { redacted: true, ..Header::new() };
        let mut writer = Writer::compressed(&path, false, &header, None).unwrap();
        recording.moments.iter().for_each(|moment| writer.moment(moment).unwrap());
        recording.parts.iter().for_each(|part| writer.part(part).unwrap());
        writer.finish().unwrap();
        experiment(&path, Some("80ms"))
    }

    #[test]
    fn counters_that_no_machine_can_have_are_refused_by_their_rate() {
        let mut recording = recorded();
        let last = recording.moments.last_mut().unwrap();
        last.counters.values.insert("snmp.Tcp.PassiveOpens".to_owned(), 1e18);
        let refused = written(&recording).unwrap_err().to_string();
        assert!(refused.contains("connections per second were accepted"), "{refused}");
    }

    #[test]
    fn traffic_limits_rules_and_distance_are_those_of_the_recording() {
        let text = written(&recorded()).unwrap();
        plimsoll_model::experiment::parse(&text, &[]).unwrap();
        for expected in [
            "rate = 250,",
            "document = \"12345\", backlog = 100",
            "port 443 holds 100; up to 3 waited",
            "delay = \"15000us\"",
            "\"net.core.somaxconn\" = \"128\"",
            "\"net.ipv4.ip_local_port_range\" = \"32768 32867\"",
            "env = { COUNT = \"5003\" }",
            "a connection lasts 0.160 s",
            "used 2,000 µs of CPU for each connection",
            "below = \"80ms\"",
            "is redacted",
        ] {
            let on_one_line = text.replace("\n# ", " ");
            assert!(on_one_line.contains(expected), "{expected}: {text}");
        }
        assert!(!text.contains("name = \"routes\""), "{text}");
    }

    #[test]
    fn settings_of_the_whole_machine_are_not_set_in_a_namespace() {
        assert!(is_of_a_host("net.ipv4.tcp_syncookies") && is_of_a_host("net.core.somaxconn"));
        for name in ["net.ipv4.tcp_mem", "net.core.rmem_max", "vm.swappiness"] {
            assert!(!is_of_a_host(name), "{name}");
        }
    }
}
