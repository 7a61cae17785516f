//! Loads: what drives the services.
//!
//! A load is written as a table with one key for its kind, and carried out as a [`LoadKind`]. What is asked of every kind is `LoadType`, and what is
//! asked of what it finds is `FactsType`; each kind answers in the file of its name. What carries it out, and how a report shows what it found, stand
//! in files of the same name in the crates for that.

#[macro_use]
mod extent;
#[macro_use]
pub(crate) mod facts;
pub mod streams;

use std::collections::BTreeMap;
use std::ops::Deref;

pub use self::facts::{Join, OfKind};
use super::problem::{Checked, Part, declared, problem};
use super::{Experiment, Metric, Service};
use crate::effect::Effect;
use crate::reader::{NamedMetric, Pick, Reader, Reading};
use crate::units::Span;

/// The list of all kinds of loads, handed to a macro of one's own: what has to know them all is made from it. A kind that counts more than every load
/// does says what it `finds` beside.
#[macro_export]
macro_rules! each_load {
    ($then:ident) => {
        $then! {
            /// HTTP requests (1.1, or 2 where it is asked for), in closed loop (a fixed number at a time, each sent when the one before it is done) or in open loop (at a rate).
            http: Http(HttpLoad) finds HttpFacts,
            /// As many bytes over TCP as go through, to or from a service of kind `bulk`.
            bulk: Bulk(BulkLoad) finds BulkFacts,
            /// Datagrams at a rate, to a service of kind `bulk`.
            udp: Udp(UdpLoad) finds Datagrams,
            /// Probes that find the hops of the path to the host of a service. The service itself is left alone.
            hops: Hops(HopsLoad) finds ProbedPath,
            /// Capacity of the path to a service of kind `bulk` for TCP, at a rate and a round-trip time.
            diagnose: Diagnose(DiagnoseLoad) finds DiagnoseFacts,
            /// Messages over SMTP.
            smtp: Smtp(SmtpLoad) finds MailFacts,
            /// Questions of DNS, over UDP or TCP.
            dns: Dns(DnsLoad) finds DnsFacts,
            /// Transactions on PostgreSQL, as those of pgbench.
            postgres: Postgres(PostgresLoad) finds PostgresFacts,
            /// Reads and writes of a volume.
            storage: Storage(StorageLoad) finds StorageFacts,
            /// Messages between workers of one host, as hackbench sends them.
            messaging: Messaging(MessagingLoad) finds MessagingFacts,
            /// A path through the kernel, taken again and again by one process.
            kernel: Kernel(KernelLoad) finds KernelFacts,
            /// A program of the user's own that drives a service, or does some work of its own.
            exec: Exec(ExecLoad) finds ExecFacts,
        }
    };
}

/// The modules of the kinds, the load as a file has it, the way from it to its kind, and what loads find.
macro_rules! define {
    ($($(#[$of_kind:meta])* $key:ident: $kind:ident($load:ident) $(finds $facts:ident)?,)+) => {
        $(pub mod $key;)+

        /// The loads of all kinds, as a file has them.
        pub(super) mod kinds {
            $(pub use super::$key::$load;)+
        }

        kinds! {
            /// Kind of a load.
            pub enum LoadKind, a table that is "the load", each a dyn LoadType {
                $($(#[$of_kind])* $key: $kind(kinds::$load),)+
            }

            /// A generator. Exactly one of the kinds is given.
            pub struct Load, read as LoadTable, then with_its_reading {
                /// The host that it runs on.
                pub from: String,
                /// The service that it aims at; of a storage load, the volume; of a messaging load or one on a path through the kernel, nothing. There is no other way to name a target.
                #[serde(default, skip_serializing_if = "String::is_empty")]
                pub to: String,
                /// The program that printed the output of `exec`, which is read as it prints it. Give this or `metrics`, here or in the table of `exec`.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub reads: Option<Reader>,
                /// The figures that are picked out of the output of `exec`, by the names that claims may use.
                #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
                pub metrics: BTreeMap<String, Pick>,
            }
        }

        facts! {
            /// Results of a load beside those that every load counts.
            pub enum LoadFacts {
                $($(
                    #[doc = concat!("What a load of the kind `", stringify!($key), "` found.")]
                    $kind($key::$facts),
                )?)+
            }
        }
    };
}

each_load!(define);

/// Interface of every kind of load.
pub trait LoadType {
    /// One of `number` parts of it, from 0. What does not divide evenly goes to the first ones; no part is empty.
    fn part(&self, place: u32, number: u32) -> LoadKind;

    /// A small piece of the load, with `operations` connections (or requests, messages ...).
    fn window(&self, operations: u64) -> LoadKind;

    /// The load with this duration, whatever its own extent.
    fn lasting(&self, duration: Span) -> LoadKind;

    /// Its duration, where it says so; `None` if that depends on the peer.
    fn lasts(&self) -> Option<Span>;

    /// The load at another rate, in requests per second; absent for a load without a constant rate.
    fn at_rate(&self, _rate: f64) -> Option<LoadKind> {
        None
    }

    /// Metric that users usually want of such a load.
    fn usual_metric(&self) -> Metric {
        Metric::RequestsPerSecond
    }

    /// The figures that a result of such a load has, beside those that every load has.
    fn metrics(&self) -> Vec<Metric>;

    /// Its metrics that have a name of the user's own.
    fn named(&self) -> Vec<NamedMetric> {
        Vec::new()
    }

    /// Name of its operations, in the plural.
    fn operations(&self) -> &'static str;

    /// Its target.
    fn target(&self) -> Target {
        Target::Service
    }

    /// Threads, process or program that carries it out.
    fn carrier(&self) -> Carrier {
        Carrier::Threads
    }

    /// Whether each host of a group can run one of its own.
    fn runs_on_groups(&self) -> bool {
        true
    }

    /// Whether it makes sense where it stands.
    fn check(&self, at: &LoadPlace<'_>) -> Checked;

    /// The load in words.
    fn describe(&self, at: &LoadPlace<'_>) -> String;

    /// Effects on the machine. Most loads aim at services of the same experiment alone, and say so by an empty list.
    fn effects(&self, at: &LoadPlace<'_>) -> Vec<Effect>;

    /// The modules of the kernel that it needs, where they are not built in.
    fn kernel_modules(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Target of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The addresses of a service.
    Service,
    /// A volume.
    Volume,
    /// Nothing but itself.
    Nothing,
}

/// Threads, process or program that carries a load out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Threads of the agent.
    Threads,
    /// A process of its own, which is small and has one thread, because it forks.
    Process,
    /// A program that is not Plimsoll, confined as services are.
    Program,
}

/// The percentiles and the mean of latencies.
const LATENCIES: &[Metric] = &[
    Metric::MedianMs,
    Metric::P90Ms,
    Metric::P95Ms,
    Metric::P99Ms,
    Metric::P999Ms,
    Metric::MeanMs,
    Metric::MaxMs,
];

/// A load and where it stands.
pub struct LoadPlace<'e> {
    pub(super) experiment: &'e Experiment,
    pub(super) name: &'e String,
    pub(super) load: &'e Load,
}

impl LoadPlace<'_> {
    /// The table of its kind.
    pub(super) fn table(&self) -> [Part; 3] {
        path!["loads", self.name, self.load.kind.key()]
    }

    /// A key of that table.
    pub(super) fn key(&self, key: &str) -> [Part; 4] {
        path!["loads", self.name, self.load.kind.key(), key]
    }

    /// Checks that the load names a declared service.
    fn aims_at_a_service(&self) -> Checked {
        self.says_what_it_aims_at()?;
        declared(&self.load.to, &self.experiment.services, "service", path!["loads", self.name, "to"])
    }

    /// Checks that the load names no target; `why` explains the rule.
    pub(super) fn aims_at_nothing(&self, why: &str) -> Checked {
        if self.load.to.is_empty() {
            return Ok(());
        }
        Err(problem(
            path!["loads", self.name, "to"],
            why,
            format!("no `to` beside `{}`", self.load.kind.key()),
        ))
    }

    /// The service that it aims at, once it is known to be one.
    pub(super) fn service(&self) -> &Service {
        &self.experiment.services[&self.load.to]
    }

    pub(super) fn says_what_it_aims_at(&self) -> Checked {
        if !self.load.to.is_empty() {
            return Ok(());
        }
        let message = format!("the load `{}` has no target", self.name);
        Err(problem(path!["loads", self.name], message, "`to`: a service, or a volume"))
    }

    pub(super) fn way(&self) -> String {
        format!("from {} to {}", self.load.from, self.load.to)
    }
}

impl LoadKind {
    /// Whether a result of such a load has a figure; a claim about any other is refused.
    pub fn has(&self, metric: Metric) -> bool {
        // Stalls come from the packets of a phase, whatever its load is; `[capture]` is a separate requirement.
        metric == Metric::StallShare || self.metrics().any(|own| own.name() == metric.name())
    }

    /// Every metric that such a load has; whatever a load does may fail.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        let own = self.deref().metrics();
        let uses_services = self.target() == Target::Service && own.contains(&Metric::CpuUsPerRequest);
        let of_services = uses_services.then_some(Metric::ServiceCpuUsPerRequest);
        own.into_iter().chain([Metric::ErrorShare]).chain(of_services).chain(self.named())
    }

    /// The figures that have a name of the user's own.
    pub fn named(&self) -> impl Iterator<Item = Metric> {
        self.deref().named().into_iter().map(|named| Metric::Named(named.into()))
    }

    /// Completes a metric that may be known by its name alone with the unit that the load names.
    pub fn completed(&self, metric: Metric) -> Metric {
        self.named().find(|named| named.name() == metric.name()).unwrap_or(metric)
    }
}

impl Load {
    /// Hands what is said beside of how output is read to the program that prints it.
    fn with_its_reading(mut self) -> Result<Self, String> {
        let beside = Reading { reads: self.reads.take(), metrics: std::mem::take(&mut self.metrics) };
        if beside == Reading::default() {
            return Ok(self);
        }
        match &mut self.kind {
            LoadKind::Exec(exec) if exec.reading == Reading::default() => {
                exec.reading = beside;
                Ok(self)
            }
            LoadKind::Exec(_) => {
                Err("the reading of the output is stated twice, expected `reads` or `metrics` once, in the load or in `exec`".into())
            }
            _ => Err("only output of `exec` is read, expected no `reads` and no `metrics` beside another kind of load".into()),
        }
    }

    /// The load in words.
    pub fn describe(&self, experiment: &Experiment, name: &String) -> String {
        self.kind.describe(&LoadPlace { experiment, name, load: self })
    }

    /// Effects on the machine.
    pub fn effects(&self, experiment: &Experiment, name: &String) -> Vec<Effect> {
        self.kind.effects(&LoadPlace { experiment, name, load: self })
    }

    /// Whether it makes sense.
    pub(super) fn check(&self, experiment: &Experiment, name: &String) -> Checked {
        declared(&self.from, &experiment.hosts, "host", path!["loads", name, "from"])?;
        let at = LoadPlace { experiment, name, load: self };
        if self.kind.target() == Target::Service {
            at.aims_at_a_service()?;
        }
        self.kind.check(&at)
    }
}

/// A number of things, in words.
pub(in crate::experiment) fn count(n: u32, what: &str) -> String {
    let plural = if what.ends_with('s') { "es" } else { "s" };
    format!("{n} {what}{}", if n == 1 { "" } else { plural })
}

#[cfg(test)]
mod tests {
    use super::http::HttpLoad;
    use super::*;

    #[test]
    fn the_parts_of_a_load_add_up_to_the_whole() {
        let whole = LoadKind::Http(HttpLoad { connections: Some(403), ..HttpLoad::default() });
        let connections = |place| match whole.part(place, 10) {
            LoadKind::Http(http) => http.connections.expect("the whole says how many"),
            other => panic!("a part of another kind: {other:?}"),
        };
        let parts: Vec<u64> = (0..10).map(connections).collect();
        assert_eq!(parts.iter().sum::<u64>(), 403);
        assert_eq!((parts[0], parts[9]), (41, 40));
    }
}
