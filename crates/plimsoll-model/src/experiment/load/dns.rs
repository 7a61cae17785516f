//! DNS loads: questions in closed or open loop.

use super::extent::{amount, check_extent, check_open, check_timeout};
use super::facts::{FactsType, Join};
use super::{LATENCIES, LoadKind, LoadPlace, LoadType, count};
use crate::experiment::metric::SERVFAIL_SHARE;
use crate::experiment::open_loop::OpenLoop;
use crate::experiment::prelude::*;
use crate::reader::{Better, NamedMetric};

/// Questions of DNS, over UDP or TCP (RFC 1035, RFC 7766), in closed loop unless `open` says otherwise.
///
/// An answer counts where it came in time, has the id and the question of what was asked, and says NOERROR or NXDOMAIN. SERVFAIL and other refusals
/// are errors. So is a reply whose records are not those that its header announces. The same holds for records of another name, type or class than
/// the question, unless they are an alias of it. A reply that is truncated counts as an answer, and is not asked for again over TCP.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct DnsLoad {
    /// How many generators work side by side, each a thread of its own (1 to 64).
    #[default(1)]
    pub generators: u32,
    /// How many questions each generator asks in all. Give this or `duration`.
    pub questions: Option<u64>,
    /// How long each generator works. Give this or `questions`.
    pub duration: Option<Span>,
    /// How many questions each generator has under way at a time (1 to 10000). In open loop it is the most that it may; a question that finds
    /// as many under way waits, and its latency counts all the same.
    #[default(1)]
    pub concurrency: u32,
    /// Ask at a rate, each question when it is due, and time each from then on.
    pub open: Option<OpenLoop>,
    /// Transport of the questions.
    pub over: DnsTransport,
    /// How many sockets of UDP, or kept connections of TCP, each generator spreads its questions over, in turn (1 to 1000).
    #[default(1)]
    pub connections: u32,
    /// The names that are asked for, each with a type of its own behind it (`"plimsoll.test MX"`) or without (`"www.plimsoll.test"`). `{1..1000}` in
    /// a name stands for each of these numbers, so that `"h{1..1000}.plimsoll.test"` is a thousand names.
    pub names: Vec<String>,
    /// The types that names without a type of their own are asked for, one after the other.
    #[default(vec![RecordType::A])]
    pub types: Vec<RecordType>,
    /// Which name comes next.
    pub order: NameOrder,
    /// How long a UDP answer may be, announced to the server in an OPT record (EDNS, RFC 6891), in bytes (512 to 65535). Without it there is no such record,
    /// and the server may send 512.
    pub edns: Option<u16>,
    /// How long an answer may take, before the question is sent again or counts as an error.
    #[default(Span::secs(5))]
    pub timeout: Span,
    /// How often a question over UDP is sent again, with the same id, when no answer came within `timeout` (0 to 10). Its latency counts from
    /// the first time. Over TCP nothing is sent again: that is TCP's business.
    pub retries: u32,
    /// Where the random numbers of `open` and `order` begin; by default somewhere else each time.
    pub seed: Option<u64>,
}

/// Transport of DNS questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DnsTransport {
    /// Datagrams.
    #[default]
    Udp,
    /// Connections that are kept, with as many questions under way on each as there are.
    Tcp,
}

/// Which name is asked for next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameOrder {
    /// One after the other, again and again. Generators begin at different places.
    #[default]
    InTurn,
    /// Any of them, each as often as the others.
    Random,
}

/// Type of the queried record (QTYPE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "these are the names that RFC 1035 and its successors give")]
pub enum RecordType {
    A,
    Aaaa,
    Any,
    Caa,
    Cname,
    Dnskey,
    Ds,
    Https,
    Mx,
    Naptr,
    Ns,
    Ptr,
    Soa,
    Srv,
    Svcb,
    Tlsa,
    Txt,
}

impl RecordType {
    /// Its number (IANA, "Resource Record (RR) TYPEs").
    pub fn number(self) -> u16 {
        match self {
            Self::A => 1,
            Self::Ns => 2,
            Self::Cname => 5,
            Self::Soa => 6,
            Self::Ptr => 12,
            Self::Mx => 15,
            Self::Txt => 16,
            Self::Aaaa => 28,
            Self::Srv => 33,
            Self::Naptr => 35,
            Self::Ds => 43,
            Self::Dnskey => 48,
            Self::Tlsa => 52,
            Self::Svcb => 64,
            Self::Https => 65,
            Self::Any => 255,
            Self::Caa => 257,
        }
    }

    fn named(name: &str) -> Option<Self> {
        serde_json::from_value(name.to_ascii_uppercase().into()).ok()
    }
}

/// Names that are asked for alike: one, or as many as there are numbers in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    before: String,
    after: String,
    first: u64,
    /// How many there are.
    pub count: u64,
    /// The type that they have of their own.
    pub of_type: Option<RecordType>,
}

/// Why a line is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoName(&'static str);

impl Names {
    /// Names in a line of `names`.
    ///
    /// # Errors
    /// The name that was expected.
    pub fn read(line: &str) -> Result<Self, NoName> {
        let (pattern, of_type) = match line.split_once(' ') {
            Some((pattern, named)) => {
                let known = RecordType::named(named.trim());
                (
                    pattern,
                    Some(known.ok_or(NoName("a type such as `A`, `AAAA`, `MX` or `TXT` behind the name"))?),
                )
            }
            None => (line, None),
        };
        let names = match pattern.split_once('{') {
            None => Self { before: pattern.into(), after: String::new(), first: 0, count: 1, of_type },
            Some((before, rest)) => {
                let range = || {
                    let (range, after) = rest.split_once('}')?;
                    let (first, last) = range.split_once("..")?;
                    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
                    let count =
                        last.checked_sub(first)?.checked_add(1).filter(|&count| count <= Self::MOST)?;
                    Some(Self { before: before.into(), after: after.into(), first, count, of_type })
                };
                range().ok_or(NoName("numbers such as `{1..1000}`, at most a hundred million"))?
            }
        };
        names.check(&names.nth(names.count - 1))?;
        Ok(names)
    }

    /// The most names that one line stands for.
    const MOST: u64 = 100_000_000;

    /// Names have labels of at most 63 bytes, and at most 253 bytes (RFC 1035, section 2.3.4).
    fn check(&self, name: &str) -> Result<(), NoName> {
        let bare = name.strip_suffix('.').unwrap_or(name);
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_*".contains(&b))
        };
        match name == "." || bare.len() <= 253 && bare.split('.').all(is_label) {
            true => Ok(()),
            false => Err(NoName(
                "letters, digits, `-`, `_` and `*`, in labels of at most 63 between dots, 253 in all",
            )),
        }
    }

    /// One of them, from 0.
    pub fn nth(&self, nth: u64) -> String {
        match self.count {
            1 if self.after.is_empty() => self.before.clone(),
            _ => format!("{}{}{}", self.before, self.first + nth, self.after),
        }
    }
}

impl DnsLoad {
    /// Its names; lines that are none are left out, as `check` has refused them.
    pub fn names(&self) -> Vec<Names> {
        self.names.iter().filter_map(|line| Names::read(line).ok()).collect()
    }
}

impl LoadType for DnsLoad {
    by_count_or_time!(questions);

    fn at_rate(&self, rate: f64) -> Option<LoadKind> {
        let open = self.open.as_ref()?.at_rate(rate)?;
        Some(Self { open: Some(open), ..self.clone() }.into())
    }

    fn metrics(&self) -> Vec<Metric> {
        [&[Metric::RequestsPerSecond, Metric::CpuUsPerRequest][..], LATENCIES].concat()
    }

    fn named(&self) -> Vec<NamedMetric> {
        let share =
            |name: &'static str, better| NamedMetric { name: name.into(), unit: "share".into(), better };
        vec![
            share("noerror_share", Better::Higher),
            share("nxdomain_share", Better::Lower),
            share(SERVFAIL_SHARE, Better::Lower),
            share("truncated_share", Better::Lower),
            share("resent_share", Better::Lower),
        ]
    }

    fn operations(&self) -> &'static str {
        "questions"
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        check_extent(at, ("questions", self.questions), 1_000_000_000_000, self.duration)?;
        in_range(u64::from(self.generators), 1, 64, at.key("generators"))?;
        in_range(u64::from(self.concurrency), 1, 10_000, at.key("concurrency"))?;
        in_range(u64::from(self.connections), 1, 1000, at.key("connections"))?;
        in_range(u64::from(self.retries), 0, 10, at.key("retries"))?;
        if let Some(bytes) = self.edns {
            in_range(u64::from(bytes), 512, 65_535, at.key("edns"))?;
        }
        check_timeout(at, self.timeout)?;
        if self.names.is_empty() {
            return Err(problem(at.table(), "there is nothing to ask", "`names`"));
        }
        for (index, line) in self.names.iter().enumerate() {
            let place = [at.key("names").as_slice(), &path![index]].concat();
            let names = Names::read(line).map_err(|expected| {
                problem(place.clone(), format!("`{line}` is no name"), expected.to_string())
            })?;
            if names.of_type.is_none() && self.types.is_empty() {
                let message = format!("nothing says for which type `{line}` is asked");
                return Err(problem(place, message, "`types`, or a type behind the name"));
            }
        }
        if self.retries > 0 && self.over == DnsTransport::Tcp {
            let expected = "`over = \"udp\"`, or no `retries`";
            return Err(problem(at.key("retries"), "questions over TCP are not sent again", expected));
        }
        self.open.as_ref().map_or(Ok(()), |open| check_open(at, open))
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let amount = amount(("questions", self.questions), self.duration);
        let over = match self.over {
            DnsTransport::Udp => "UDP",
            DnsTransport::Tcp => "TCP",
        };
        let names: u64 = self.names().iter().map(|names| names.count).sum();
        let names = count(u32::try_from(names).unwrap_or(u32::MAX), "name");
        let again = match self.retries {
            0 => "nothing sent again".to_owned(),
            n => format!("sent again up to {} after {} each", times(n), self.timeout),
        };
        format!(
            "DNS over {over} {}, {} x {amount}, {} at a time, {names}, {again}",
            at.way(),
            self.generators,
            self.concurrency
        )
    }

    fn effects(&self, _: &LoadPlace<'_>) -> Vec<Effect> {
        Vec::new()
    }
}

fn times(n: u32) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}

/// Fate of questions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DnsFacts {
    /// How many replies had each response code, by its name (IANA, "DNS RCODEs").
    pub codes: BTreeMap<String, u64>,
    /// Replies that were cut (TC).
    pub truncated: u64,
    /// Questions that were sent once more, each time counted.
    pub resent: u64,
    /// Replies that came after their question was given up, or a second time, or with an id or a question that was not under way. They count as nothing else.
    pub unasked: u64,
}

impl DnsFacts {
    /// All replies to the questions.
    pub fn replies(&self) -> u64 {
        self.codes.values().sum()
    }

    /// Replies with a response code.
    pub fn with(&self, code: &str) -> u64 {
        self.codes.get(code).copied().unwrap_or(0)
    }
}

impl FactsType for DnsFacts {
    fn figure(&self, metric: Metric, _seconds: f64) -> Option<f64> {
        let number = match metric {
            Metric::Named(_) => match metric.name() {
                "noerror_share" => self.with("NOERROR"),
                "nxdomain_share" => self.with("NXDOMAIN"),
                SERVFAIL_SHARE => self.with("SERVFAIL"),
                "truncated_share" => self.truncated,
                "resent_share" => self.resent,
                _ => return None,
            },
            _ => return None,
        };
        let all = self.replies();
        (all > 0).then(|| number as f64 / all as f64)
    }

    fn is_in_report(&self) -> bool {
        true
    }
}

impl Join for DnsFacts {
    fn join(&mut self, other: &Self) {
        for (code, number) in &other.codes {
            *self.codes.entry(code.clone()).or_default() += number;
        }
        self.truncated += other.truncated;
        self.resent += other.resent;
        self.unasked += other.unasked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::parse;
    use crate::observation::LoadResult;

    const FILE: &str = r#"
question = "How fast?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.resolver]
on = "server"
port = 53
exec = ["unbound", "-d", "-p", "{port}"]
[loads.questions]
from = "client"
to = "resolver"
dns = { DNS }
[[phases]]
name = "asked"
measure = "questions"
"#;

    fn refused(dns: &str) -> (String, String) {
        let error = parse(&FILE.replace("DNS", dns), &[]).unwrap_err();
        (error.message, error.expected.unwrap_or_default())
    }

    #[test]
    fn a_line_is_a_name_or_many_with_a_type_or_without() {
        let one = Names::read("plimsoll.test MX").unwrap();
        assert_eq!((one.nth(0).as_str(), one.count, one.of_type), ("plimsoll.test", 1, Some(RecordType::Mx)));
        let many = Names::read("h{8..10}.plimsoll.test").unwrap();
        let all: Vec<String> = (0..many.count).map(|nth| many.nth(nth)).collect();
        assert_eq!(all, ["h8.plimsoll.test", "h9.plimsoll.test", "h10.plimsoll.test"]);
        assert_eq!(Names::read("{3..3}.test").unwrap().nth(0), "3.test");
        for wrong in ["", "a b", "a..b", "a{3..1}", "a{1..}", "a{1..9", "ä.test", &"x".repeat(64)] {
            assert!(Names::read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Names::read(".").unwrap().nth(0), ".", "the root is a name");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let said = |dns| refused(dns).0;
        assert!(said("names = [\"a.test\"]").contains("does not state its length"));
        assert!(said("duration = \"1s\"").contains("nothing to ask"));
        let (message, expected) = refused("duration = \"1s\", names = [\"a.test QQ\"]");
        assert!(
            message.contains("`a.test QQ` is no name") && expected.contains("`MX`"),
            "{message} {expected}"
        );
        assert!(said("duration = \"1s\", names = [\"a.test\"], types = []").contains("for which type"));
        assert!(said("duration = \"1s\", names = [\"a.test\"], over = \"tcp\", retries = 1").contains("TCP"));
        let good = "duration = \"1s\", names = [\"a.test\", \"h{1..9}.test AAAA\"], types = [\"A\", \"TXT\"]";
        let experiment = parse(&FILE.replace("DNS", good), &[]).unwrap();
        let stored = serde_json::to_value(&experiment).unwrap();
        assert_eq!(serde_json::from_value::<crate::experiment::Experiment>(stored).unwrap(), experiment);
        let description = experiment.loads["questions"].describe(&experiment, &"questions".to_owned());
        assert_eq!(
            description,
            "DNS over UDP from client to resolver, 1 x 1s, 1 at a time, 10 names, nothing sent again"
        );
    }

    #[test]
    fn shares_are_of_the_replies() {
        let codes =
            [("NOERROR".to_owned(), 6), ("NXDOMAIN".to_owned(), 3), ("SERVFAIL".to_owned(), 1)].into();
        let facts = DnsFacts { codes, truncated: 2, ..DnsFacts::default() };
        let mut twice = facts.clone();
        twice.join(&facts);
        let result = LoadResult { facts: Some(twice.into()), ..LoadResult::default() };
        let figure = |name: &str| {
            let load = LoadKind::from(DnsLoad::default());
            let metric = load.named().find(|metric| metric.name() == name).unwrap();
            metric.of(&result)
        };
        assert_eq!(figure("nxdomain_share"), Some(0.3));
        assert_eq!(figure("servfail_share"), Some(0.1));
        assert_eq!(figure("truncated_share"), Some(0.2));
        assert_eq!(figure("resent_share"), Some(0.0));
    }
}
