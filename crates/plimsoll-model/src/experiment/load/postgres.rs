//! PostgreSQL loads: transactions as those of pgbench, in closed or open loop.

use super::extent::{amount, check_extent, check_open, check_timeout};
use super::facts::{FactsType, Join};
use super::{LATENCIES, LoadKind, LoadPlace, LoadType};
use crate::experiment::metric::ABORTED_SHARE;
use crate::experiment::open_loop::OpenLoop;
use crate::experiment::prelude::*;
use crate::reader::{Better, NamedMetric};

/// Transactions on the tables of `pgbench --initialize`, in the words of its built-in scripts: each statement is sent when the one before it is answered.
///
/// A transaction counts when it was committed. One that the server aborts is an error, and is not tried again. The first transaction of a
/// connection counts from when the connection was begun.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct PostgresLoad {
    /// How many generators work side by side, each a thread of its own (1 to 64).
    #[default(1)]
    pub generators: u32,
    /// How many transactions each generator carries out in all. Give this or `duration`.
    pub transactions: Option<u64>,
    /// How long each generator works. Give this or `transactions`.
    pub duration: Option<Span>,
    /// How many connections each generator keeps, with one transaction at a time on each (1 to 10000). The server's `max_connections` has to allow
    /// for all of them. In open loop it is the most that there may be; a transaction for which none is free waits, and its latency counts all
    /// the same.
    #[default(1)]
    pub clients: u32,
    /// Begin transactions at a rate, each when it is due, and time each from then on.
    pub open: Option<OpenLoop>,
    /// Statements of a transaction.
    pub script: PostgresScript,
    /// The scale that the tables were filled with: 100000 accounts, 10 tellers and a branch for each.
    #[default(1)]
    pub scale: u32,
    /// How statements are sent.
    pub protocol: PostgresProtocol,
    /// The isolation of transactions; by default the server's own. Of `select_only`, which has no block of statements, nothing can be said.
    pub isolation: Option<Isolation>,
    /// User of the connections.
    #[default = "postgres"]
    pub user: String,
    /// The password, where the server asks for one (SCRAM-SHA-256, MD5 or in clear). It is stored with the run: take one that guards nothing.
    pub password: Option<String>,
    /// The database.
    #[default = "postgres"]
    pub database: String,
    /// How long a transaction, or a connection, may take before it counts as an error.
    #[default(Span::secs(30))]
    pub timeout: Span,
    /// Where the random numbers of transactions and of `open` begin; by default somewhere else each time.
    pub seed: Option<u64>,
}

/// Statements of a transaction: the built-in scripts of pgbench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PostgresScript {
    /// Changes the balances of an account, a teller and a branch, reads the account's, and notes it in the history; like TPC-B.
    #[default]
    TpcbLike,
    /// TPC-B without the teller and the branch, on whose few rows transactions wait for one another.
    SimpleUpdate,
    /// Reads the balance of an account.
    SelectOnly,
}

/// How statements are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PostgresProtocol {
    /// As text with its values in it, parsed each time (`pgbench -M simple`).
    #[default]
    Simple,
    /// As text with its values beside it, parsed each time (`pgbench -M extended`).
    Extended,
    /// Parsed once on each connection, then with values alone (`pgbench -M prepared`).
    Prepared,
}

/// Isolation of transactions from one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Sees rows committed before each statement.
    ReadCommitted,
    /// Sees rows committed before the transaction; one that changes what another has changed since is aborted.
    RepeatableRead,
    /// As if there were no other; where that cannot be had, one of them is aborted.
    Serializable,
}

impl Isolation {
    /// As SQL has it.
    pub fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

impl LoadType for PostgresLoad {
    by_count_or_time!(transactions);

    fn at_rate(&self, rate: f64) -> Option<LoadKind> {
        let open = self.open.as_ref()?.at_rate(rate)?;
        Some(Self { open: Some(open), ..self.clone() }.into())
    }

    fn metrics(&self) -> Vec<Metric> {
        [&[Metric::RequestsPerSecond, Metric::CpuUsPerRequest][..], LATENCIES].concat()
    }

    fn named(&self) -> Vec<NamedMetric> {
        let name = ABORTED_SHARE.into();
        vec![NamedMetric { name, unit: "share".into(), better: Better::Lower }]
    }

    fn operations(&self) -> &'static str {
        "transactions"
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        check_extent(at, ("transactions", self.transactions), 1_000_000_000_000, self.duration)?;
        check_timeout(at, self.timeout)?;
        in_range(u64::from(self.generators), 1, 64, at.key("generators"))?;
        in_range(u64::from(self.clients), 1, 10_000, at.key("clients"))?;
        in_range(u64::from(self.scale), 1, 20_000, at.key("scale"))?;
        if self.isolation.is_some() && self.script == PostgresScript::SelectOnly {
            let expected = "a script that has several, or no `isolation`";
            return Err(problem(at.key("isolation"), "`select_only` is a single statement", expected));
        }
        for (key, text) in [("user", &self.user), ("database", &self.database)] {
            if text.is_empty() || text.contains('\0') {
                return Err(problem(at.key(key), "this is no name", "a name, without zero bytes"));
            }
        }
        self.open.as_ref().map_or(Ok(()), |open| check_open(at, open))
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let amount = amount(("transactions", self.transactions), self.duration);
        let script = match self.script {
            PostgresScript::TpcbLike => "like TPC-B",
            PostgresScript::SimpleUpdate => "simple updates",
            PostgresScript::SelectOnly => "reads alone",
        };
        let protocol = match self.protocol {
            PostgresProtocol::Simple => "simple",
            PostgresProtocol::Extended => "extended",
            PostgresProtocol::Prepared => "prepared",
        };
        let isolation =
            self.isolation.map_or_else(String::new, |level| format!(", {}", level.sql().to_lowercase()));
        format!(
            "PostgreSQL {}, {} x {amount}, {} clients, {script}, scale {}, {protocol}{isolation}",
            at.way(),
            self.generators,
            self.clients,
            self.scale
        )
    }

    fn effects(&self, _: &LoadPlace<'_>) -> Vec<Effect> {
        Vec::new()
    }
}

/// Fate of transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostgresFacts {
    /// Transactions that ended, committed or not.
    pub transactions: u64,
    /// How many the server aborted with each SQLSTATE (PostgreSQL's manual, appendix A).
    pub aborted: BTreeMap<String, u64>,
}

impl PostgresFacts {
    /// SQLSTATE of a transaction that could not be as if there were no other.
    pub const SERIALIZATION_FAILURE: &'static str = "40001";
    /// SQLSTATE of a transaction that waited for one that waited for it.
    pub const DEADLOCK: &'static str = "40P01";

    /// Transactions that were aborted with this SQLSTATE.
    pub fn with(&self, state: &str) -> u64 {
        self.aborted.get(state).copied().unwrap_or(0)
    }

    /// All aborted transactions.
    pub fn all_aborted(&self) -> u64 {
        self.aborted.values().sum()
    }
}

impl FactsType for PostgresFacts {
    fn figure(&self, metric: Metric, _seconds: f64) -> Option<f64> {
        let is_known = matches!(metric, Metric::Named(_)) && metric.name() == ABORTED_SHARE;
        (is_known && self.transactions > 0).then(|| self.all_aborted() as f64 / self.transactions as f64)
    }

    fn is_in_report(&self) -> bool {
        true
    }
}

impl Join for PostgresFacts {
    fn join(&mut self, other: &Self) {
        self.transactions += other.transactions;
        for (state, number) in &other.aborted {
            *self.aborted.entry(state.clone()).or_default() += number;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::parse;

    const FILE: &str = r#"
question = "How fast?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.database]
on = "server"
port = 5432
exec = ["postgres", "-p", "{port}"]
[loads.transactions]
from = "client"
to = "database"
postgres = { LOAD }
[[phases]]
name = "measured"
measure = "transactions"
[[claims]]
limit = { metric = "aborted_share", below = "1 %" }
"#;

    #[test]
    fn a_load_says_how_long_it_goes_on_and_what_isolation_is_of() {
        let refused = |load: &str| parse(&FILE.replace("LOAD", load), &[]).unwrap_err().message;
        assert!(refused("clients = 2").contains("does not state its length"));
        assert!(!refused("duration = \"1s\", clients = 0").is_empty());
        assert!(refused("duration = \"1s\", timeout = \"0s\"").contains("in no time"));
        let alone = "duration = \"1s\", script = \"select_only\", isolation = \"serializable\"";
        assert!(refused(alone).contains("a single statement"));
        let good = "duration = \"5s\", clients = 8, scale = 10, protocol = \"prepared\", isolation = \"serializable\"";
        let experiment = parse(&FILE.replace("LOAD", good), &[]).unwrap();
        let description = experiment.loads["transactions"].describe(&experiment, &"transactions".to_owned());
        let expected = "PostgreSQL from client to database, 1 x 5s, 8 clients, like TPC-B, scale 10, prepared, serializable";
        assert_eq!(description, expected);
        let stored = serde_json::to_value(&experiment).unwrap();
        assert_eq!(serde_json::from_value::<crate::experiment::Experiment>(stored).unwrap(), experiment);
    }
}
