//! Replaces names in a recording by pseudonyms.
//!
//! A pseudonym is a keyed hash of the name, and the key is derived from the machine's id (machine-id(5)). So one name has the same
//! pseudonym in all recordings of a machine, which lets them be compared, and only with that id can names be tried out.
//!
//! Unchanged: names of the kernel's functions, settings, devices and threads, and functions of programs.

use std::collections::HashMap;
use std::fs;
use std::net::{Ipv6Addr, SocketAddr};

use rand::RngExt as _;
use regex::{Captures, Regex};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// Separates this use of the machine's id from others.
const PURPOSE: &[u8] = b"plimsoll record --redact";
/// The most addresses whose pseudonyms are kept; those of others are computed again.
const MOST_ADDRESSES: usize = 100_000;
/// Bytes of the hash in a pseudonym.
const LENGTH: usize = 5;
/// Instead of a text that may hold anything.
const REMOVED: &str = "(removed)";
/// Names that reveal only the kind of an interface.
const PLAIN_INTERFACE: &str = r"^(lo|eth\d+|eno\d+|ens\d+|enp\d+s\d+(f\d+)?|bond\d+|br\d+|docker0|wlan\d+)$";
/// Threads of the kernel.
const KERNEL_THREAD: &str = r"^(kworker(/[u0-9:HRI]+(-events(_\w+)?)?)?|ksoftirqd/\d+|kswapd\d+|kcompactd\d+|khugepaged|migration/\d+|rcu_(preempt|sched|gp)|swapper|kthreadd)$";
const IPV4: &str = r"\b(\d{1,3}\.){3}\d{1,3}\b";
/// Addresses of interfaces, and whatever could be an IPv6 address; those that are none stay.
const COLONS: &str = r"[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*";

/// Replaces names by pseudonyms.
pub(crate) struct Redactor {
    key: [u8; 32],
    /// Names of this host, its users and its interfaces, in any text.
    names: Option<Regex>,
    ipv4: Regex,
    colons: Regex,
    plain_interface: Regex,
    kernel_thread: Regex,
}

impl Redactor {
    /// For recordings of this machine.
    pub(crate) fn of_this_machine() -> Result<Self, Failure> {
        let id = fs::read("/etc/machine-id").ok().filter(|id| id.len() >= 32);
        // Without an id, names are stable within this recording alone.
        let id = id.unwrap_or_else(|| rand::rng().random::<[u8; 32]>().to_vec());
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let users = users.lines().filter_map(|line| line.split(':').next());
        let mut names: Vec<String> = users.map(ToOwned::to_owned).collect();
        names.extend(host_name());
        let interfaces = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
        names.extend(interfaces.map(|entry| entry.file_name().to_string_lossy().into_owned()));
        Self::new(&id, &names)
    }

    fn new(id: &[u8], names: &[String]) -> Result<Self, Failure> {
        let regex = |text: &str| {
            Regex::new(text).map_err(|error| Failure::could_not(format!("a pattern of names: {error}")))
        };
        let plain_interface = regex(PLAIN_INTERFACE)?;
        // A user `root` or `bin` reveals nothing, and would spoil names of the kernel's.
        let mut names: Vec<&String> = names
            .iter()
            .filter(|name| !SYSTEM_USERS.contains(&name.as_str()) && !plain_interface.is_match(name))
            .filter(|name| !name.is_empty())
            .collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let any: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
        Ok(Self {
            key: Sha256::new().chain_update(PURPOSE).chain_update(id).finalize().into(),
            names: if any.is_empty() { None } else { Some(regex(&any.join("|"))?) },
            ipv4: regex(IPV4)?,
            colons: regex(COLONS)?,
            plain_interface,
            kernel_thread: regex(KERNEL_THREAD)?,
        })
    }

    fn pseudonym(&self, kind: &str, name: &str) -> String {
        let hash = Sha256::new().chain_update(self.key).chain_update(name.as_bytes()).finalize();
        let digits: String = hash.iter().take(LENGTH).map(|byte| format!("{byte:02x}")).collect();
        format!("{kind}-{digits}")
    }

    /// What replaces the bytes of an address by others, the same ones each time.
    pub(crate) fn addresses(&self) -> impl FnMut(&mut [u8]) + Send + use<> {
        let key = self.key;
        let hash = move |bytes: &[u8]| -> [u8; 32] {
            Sha256::new().chain_update(key).chain_update(bytes).finalize().into()
        };
        let mut known: HashMap<Vec<u8>, [u8; 32]> = HashMap::new();
        move |address: &mut [u8]| {
            if known.len() > MOST_ADDRESSES {
                known.clear();
            }
            let pseudonym = known.entry(address.to_vec()).or_insert_with_key(|bytes| hash(bytes));
            address.copy_from_slice(&pseudonym[..address.len()]);
        }
    }

    /// Replaces the names in a line of a recording.
    pub(super) fn line(&self, line: &mut Value) {
        match line {
            Value::Object(fields) => self.object(fields),
            Value::Array(values) => values.iter_mut().for_each(|value| self.line(value)),
            Value::String(text) => *text = self.text(text),
            _ => {}
        }
    }

    fn object(&self, fields: &mut Map<String, Value>) {
        let is_process = fields.contains_key("pid");
        let kind = fields.get("kind").and_then(Value::as_str).map(ToOwned::to_owned);
        let before = std::mem::take(fields);
        for (key, mut value) in before {
            match (&mut value, key.as_str()) {
                (Value::String(text), field) => *text = self.field(field, text, is_process, kind.as_deref()),
                (other, _) => self.line(other),
            }
            fields.insert(self.counter(&key), value);
        }
    }

    fn field(&self, field: &str, text: &str, is_process: bool, kind: Option<&str>) -> String {
        match (field, kind) {
            ("process", _) | ("name", Some("process")) => self.program(text),
            ("name", None) if is_process => self.program(text),
            ("name", Some("host")) if text != super::HERE => self.pseudonym("namespace", text),
            // A program without symbols: `[nginx]`.
            ("name", Some("user")) => match text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                Some(file) => format!("[{}]", self.pseudonym("file", file)),
                None => self.known(text),
            },
            ("name", Some("kernel")) => self.known(text),
            ("host", _) => self.pseudonym("host", text),
            ("namespace", _) => self.pseudonym("namespace", text),
            ("group", _) => self.pseudonym("group", text),
            ("local" | "peer", _) => self.socket(text),
            // Its addresses were replaced before they were written.
            ("pcapng", _) => text.to_owned(),
            ("text" | "command_line" | "target", _) => REMOVED.to_owned(),
            _ => self.text(text),
        }
    }

    fn program(&self, name: &str) -> String {
        if self.kernel_thread.is_match(name) { name.to_owned() } else { self.pseudonym("program", name) }
    }

    fn socket(&self, text: &str) -> String {
        match text.parse::<SocketAddr>() {
            Ok(socket) => {
                format!("{}:{}", self.pseudonym("address", &socket.ip().to_string()), socket.port())
            }
            Err(_) => REMOVED.to_owned(),
        }
    }

    /// The name of a counter, without the mount, the control group or the interface that is in it.
    fn counter(&self, name: &str) -> String {
        let between = |start: &str, ends: &[&str]| -> Option<(String, String)> {
            let rest = name.strip_prefix(start)?;
            let end = ends.iter().find_map(|end| rest.rfind(end))?;
            Some((rest[..end].to_owned(), rest[end..].to_owned()))
        };
        if let Some((mounted, field)) = between("filesystem.", &[".free."]) {
            return format!("filesystem.{}{field}", self.pseudonym("mount", &mounted));
        }
        if let Some((namespace, field)) = between("netns.", &[".snmp.", ".netstat."]) {
            let pseudonym = self.pseudonym("namespace", &format!("namespace {namespace}"));
            return format!("netns.{pseudonym}{field}");
        }
        if let Some((group, field)) = between("machine.group.", &[".at_limit"]) {
            return format!("machine.group.{}{field}", self.pseudonym("group", &group));
        }
        if let Some((interface, field)) = between("dev.", &["."]) {
            if self.plain_interface.is_match(&interface) {
                return name.to_owned();
            }
            return format!("dev.{}{field}", self.pseudonym("interface", &interface));
        }
        self.text(name)
    }

    /// Any text, without addresses and known names.
    fn text(&self, text: &str) -> String {
        let of_ipv4 = self
            .ipv4
            .replace_all(text, |found: &Captures<'_>| self.pseudonym("address", &found[0]))
            .into_owned();
        let of_colons = replace_words(&self.colons, &of_ipv4, |text| {
            let is_interface = text.len() == 17 && text.split(':').count() == 6;
            let is_address = is_interface || text.parse::<Ipv6Addr>().is_ok_and(|it| !it.is_unspecified());
            if is_address { self.pseudonym("address", text) } else { text.to_owned() }
        });
        self.known(&of_colons)
    }

    /// Any text, without known names. Functions such as `a::b` look like addresses.
    fn known(&self, text: &str) -> String {
        match &self.names {
            Some(names) => replace_words(names, text, |name| self.pseudonym("name", name)),
            None => text.to_owned(),
        }
    }
}

/// Replaces names that stand by themselves: `bob` in `/home/bob`, and not in `bobbin`.
fn replace_words(names: &Regex, text: &str, with: impl Fn(&str) -> String) -> String {
    let is_word = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    let mut replaced = String::new();
    let mut from = 0;
    for found in names.find_iter(text) {
        if is_word(text[..found.start()].chars().next_back()) || is_word(text[found.end()..].chars().next()) {
            continue;
        }
        replaced.push_str(&text[from..found.start()]);
        replaced.push_str(&with(found.as_str()));
        from = found.end();
    }
    replaced + &text[from..]
}

/// The name of this machine.
pub(crate) fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Users that each machine has (Debian's base-passwd, and systemd's).
const SYSTEM_USERS: [&str; 22] = [
    "root",
    "daemon",
    "bin",
    "sys",
    "sync",
    "games",
    "man",
    "lp",
    "mail",
    "news",
    "uucp",
    "proxy",
    "www-data",
    "backup",
    "list",
    "irc",
    "nobody",
    "_apt",
    "messagebus",
    "sshd",
    "systemd-network",
    "systemd-resolve",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::{IpAddr, Ipv4Addr};

    use plimsoll_assess::watched::{Moment, ProcessUse};
    use plimsoll_inventory::{KernelProblem, LogLine};
    use plimsoll_model::observation::{
        Arm, CallCount, FailedCalls, Frame, FrameKind, ProfileBuilder, ProfileClock, Seen, Snapshot,
        Throttled, TracedCall,
    };
    use plimsoll_probe::busiest::{Connection, Listener, TcpLook};
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng};

    use super::super::{Header, Missing, Part, ProfileWindow, SocketsAt};
    use super::*;

    /// Plausible names, long enough not to be part of any other word.
    struct Names(StdRng);

    impl Names {
        fn name(&mut self) -> String {
            let length = self.0.random_range(8..15);
            let letters = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
            let letter =
                |rng: &mut StdRng| letters.chars().nth(rng.random_range(0..letters.len())).expect("a letter");
            format!("q{}z", (0..length).map(|_| letter(&mut self.0)).collect::<String>())
        }

        fn address(&mut self) -> IpAddr {
            match self.0.random::<bool>() {
                true => Ipv4Addr::from(self.0.random_range(0x0b00_0000..0xdfff_ffff_u32)).into(),
                false => Ipv6Addr::from(self.0.random::<u128>() >> 3 | 0x2001 << 112).into(),
            }
        }
    }

    /// The lines of a recording that has these names in all the fields where names can be.
    fn lines(host: &str, users: &[String], programs: &[String], addresses: &[IpAddr]) -> Vec<Value> {
        let (user, program) = (&users[0], &programs[0]);
        let owner = Frame::new(FrameKind::Host, super::super::HERE);
        let mut profile = ProfileBuilder::new(Arm::Treatment, ProfileClock::Cycles, 49);
        for program in programs {
            let stack = [
                owner.clone(),
                Frame::new(FrameKind::Process, program.as_str()),
                Frame::new(FrameKind::User, format!("[{program}]")),
                Frame::new(FrameKind::Kernel, "tcp_sendmsg"),
            ];
            profile.add(&stack, 7);
        }
        let call = TracedCall::FileSync;
        profile.call(&CallCount { call, owner: owner.clone(), process: program.clone(), count: 3 });
        let mut seen = Seen::default();
        let (call, error) = ("connect".to_owned(), "ECONNREFUSED".to_owned());
        let process = program.clone();
        seen.failure(FailedCalls { owner: owner.clone(), process, call, error, count: 3 });
        let group = format!("/user.slice/{user}/{program}");
        seen.throttle(Throttled { owner, group, periods: 1, throttled: 1, us: 1 });
        profile.see(&seen);
        let socket = |at: usize| SocketAddr::new(addresses[at % addresses.len()], 443).to_string();
        let connection =
            Connection { local: socket(0), peer: socket(1), moved_bytes: 5, ..Connection::default() };
        let listener = Listener { local: socket(2), waiting: 1, backlog: 5, namespace: None };
        let mut values: BTreeMap<String, f64> = programs
            .iter()
            .flat_map(|name| [format!("dev.{name}.rx_bytes"), format!("filesystem./srv/{name}.free.bytes")])
            .map(|name| (name, 1.0))
            .collect();
        values.insert(format!("filesystem./home/{user}.free.inodes"), 2.0);
        values.insert("dev.eth0.rx_bytes".to_owned(), 3.0);
        let processes = programs.iter().map(|name| ProcessUse { pid: 1, name: name.clone(), cpus: 0.5 });
        let moment = Moment {
            at_unix_ms: 1,
            counters: Snapshot { at_ns: 1, values },
            processes: Some(processes.collect()),
        };
        let log: Vec<LogLine> = addresses
            .iter()
            .map(|ip| LogLine {
                at_us: 1,
                trouble: KernelProblem::Io,
                text: format!("{program} on {host} for {user}: SRC={ip}"),
            })
            .collect();
        let missing = addresses.iter().map(|ip| Missing {
            what: format!("/home/{user}/x"),
            why: format!("host {host}, {user}@{ip}, mac 02:42:ac:11:00:02"),
            allowed_by: None,
        });
        let header = Header {
            host: host.to_owned(),
            target: format!("process 7, {program}, and its children"),
            missing: missing.collect(),
            uptime_s: None,
            ..Header::new()
        };
        let parts = [
            Part::Profile(Box::new(ProfileWindow { at_unix_ms: 1, seconds: 10.0, profile: profile.build() })),
            Part::Sockets(SocketsAt {
                at_unix_ms: 1,
                look: TcpLook { busiest: vec![connection], listeners: vec![listener] },
            }),
            Part::KernelLog(log),
        ];
        let mut lines = vec![serde_json::to_value(header).unwrap(), serde_json::to_value(moment).unwrap()];
        lines.extend(parts.iter().map(|part| serde_json::to_value(part).unwrap()));
        lines
    }

    #[test]
    fn no_name_and_no_address_of_random_ones_is_left_and_equal_ones_stay_equal() {
        for seed in 0..200 {
            let mut names = Names(StdRng::seed_from_u64(seed));
            let (host, users) = (names.name(), [names.name()]);
            let programs = [names.name(), names.name(), names.name()];
            let addresses = [names.address(), names.address(), names.address()];
            let known = [host.clone(), users[0].clone()];
            let redacted = |id: &[u8]| -> String {
                let redactor = Redactor::new(id, &known).unwrap();
                let mut lines = lines(&host, &users, &programs, &addresses);
                lines.iter_mut().for_each(|line| redactor.line(line));
                lines.iter().map(|line| format!("{line}\n")).collect()
            };
            let text = redacted(b"one machine");
            let originals = programs.iter().chain(&known).cloned();
            let originals = originals.chain(addresses.iter().map(ToString::to_string));
            for original in originals.chain(["02:42:ac:11:00:02".to_owned()]) {
                assert!(!text.contains(&original), "seed {seed}: {original} is left in {text}");
            }
            assert_eq!(text, redacted(b"one machine"), "stable");
            assert_ne!(text, redacted(b"another machine"), "keyed");
            // Frames, calls and lists of processes name a program alike.
            let program = Redactor::new(b"one machine", &known).unwrap().program(&programs[0]);
            assert!(text.matches(&program).count() >= 4, "{program} in {text}");
            assert!(text.contains("tcp_sendmsg") && text.contains("dev.eth0.rx_bytes"), "{text}");
        }
    }

    #[test]
    fn names_of_the_kernels_stay() {
        let redactor = Redactor::new(b"it", &["bob".to_owned(), "root".to_owned()]).unwrap();
        for name in ["kworker/u8:3", "kswapd0", "ksoftirqd/1"] {
            assert_eq!(redactor.program(name), name);
        }
        for text in ["machine.stat.cpu.user", "limit.net.core.somaxconn", "0000:03:00.0", "6.12.30", "bobbin"]
        {
            assert_eq!(redactor.text(text), text);
        }
        let function = redactor.field("name", "core::fmt::a::b", false, Some("user"));
        assert_eq!(function, "core::fmt::a::b");
        assert!(
            !redactor.text("/home/bob").contains("bob") && !redactor.text("10.1.2.3:80").contains("10.1.2.3")
        );
    }
}
