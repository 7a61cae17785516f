//! The built-in scripts of pgbench (PostgreSQL's manual, "pgbench", section "What Is the Transaction Actually Performed in pgbench?").

use std::fmt::Write;

use bytes::BytesMut;
use plimsoll_model::experiment::PostgresLoad;
use plimsoll_model::experiment::load::postgres::{PostgresProtocol, PostgresScript};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use rand::RngExt;
use rand::rngs::SmallRng;

/// Accounts for each unit of scale.
const ACCOUNTS: i64 = 100_000;
/// Tellers for each unit of scale.
const TELLERS: i64 = 10;

/// The values of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction {
    account: i64,
    branch: i64,
    teller: i64,
    delta: i64,
}

impl Transaction {
    fn value(self, of: Value) -> i64 {
        match of {
            Value::Account => self.account,
            Value::Branch => self.branch,
            Value::Teller => self.teller,
            Value::Delta => self.delta,
        }
    }
}

/// A value that a statement takes.
#[derive(Clone, Copy, Debug)]
enum Value {
    Account,
    Branch,
    Teller,
    Delta,
}

/// A statement.
struct Statement {
    /// Its text, between its values.
    pieces: Vec<String>,
    values: Vec<Value>,
    /// The statement with numbers in place of its values.
    numbered: String,
    /// Its name, where it is prepared.
    name: String,
    /// The server's tag of a successful command.
    expected: &'static str,
}

impl Statement {
    fn new(nth: usize, text: &str, expected: &'static str) -> Self {
        let (mut pieces, mut values, mut numbered) = (Vec::new(), Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(':') {
            let names = [
                (":aid", Value::Account),
                (":bid", Value::Branch),
                (":tid", Value::Teller),
                (":delta", Value::Delta),
            ];
            let (name, value) =
                names.into_iter().find(|(name, _)| rest[at..].starts_with(name)).expect("a value");
            pieces.push(rest[..at].to_owned());
            values.push(value);
            numbered.push_str(&rest[..at]);
            let _ = write!(numbered, "${}", values.len());
            rest = &rest[at + name.len()..];
        }
        pieces.push(rest.to_owned());
        numbered.push_str(rest);
        Self { pieces, values, numbered, name: format!("P_{nth}"), expected }
    }
}

/// Messages of a load, apart from the values.
pub(super) struct Script {
    statements: Vec<Statement>,
    protocol: PostgresProtocol,
    scale: i64,
    pub(super) user: String,
    pub(super) password: Option<String>,
    pub(super) database: String,
}

impl Script {
    pub(super) fn new(load: &PostgresLoad) -> Self {
        let begin = load.isolation.map(|level| format!("BEGIN ISOLATION LEVEL {};", level.sql()));
        let begin = (begin.as_deref().unwrap_or("BEGIN;"), "BEGIN");
        let account =
            ("UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;", "UPDATE 1");
        let read = ("SELECT abalance FROM pgbench_accounts WHERE aid = :aid;", "SELECT 1");
        let teller =
            ("UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;", "UPDATE 1");
        let branch =
            ("UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;", "UPDATE 1");
        let note = (
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);",
            "INSERT 0 1",
        );
        let end = ("END;", "COMMIT");
        let texts = match load.script {
            PostgresScript::TpcbLike => vec![begin, account, read, teller, branch, note, end],
            PostgresScript::SimpleUpdate => vec![begin, account, read, note, end],
            PostgresScript::SelectOnly => vec![read],
        };
        let statements = texts.into_iter().enumerate();
        Self {
            statements: statements
                .map(|(nth, (text, expected))| Statement::new(nth, text, expected))
                .collect(),
            protocol: load.protocol,
            scale: i64::from(load.scale),
            user: load.user.clone(),
            password: load.password.clone(),
            database: load.database.clone(),
        }
    }

    /// The values of the next transaction, each as likely as any other.
    pub(super) fn draw(&self, random: &mut SmallRng) -> Transaction {
        Transaction {
            account: random.random_range(1..=ACCOUNTS * self.scale),
            branch: random.random_range(1..=self.scale),
            teller: random.random_range(1..=TELLERS * self.scale),
            delta: random.random_range(-5000..=5000),
        }
    }

    /// How many statements a transaction has.
    pub(super) fn length(&self) -> usize {
        self.statements.len()
    }

    /// The server's tag of a successful statement.
    pub(super) fn expected(&self, nth: usize) -> &'static str {
        self.statements[nth].expected
    }

    /// The scale that the tables are said to have.
    pub(super) fn scale(&self) -> i64 {
        self.scale
    }

    /// Appends the messages that prepare the statements of a connection. False if the script prepares none.
    pub(super) fn prepare(&self, into: &mut BytesMut) -> bool {
        if self.protocol != PostgresProtocol::Prepared {
            return false;
        }
        for statement in &self.statements {
            written(frontend::parse(&statement.name, &statement.numbered, [], into));
        }
        frontend::sync(into);
        true
    }

    /// A statement with its values; `text` is room for it.
    pub(super) fn say(&self, nth: usize, asked: Transaction, text: &mut String, into: &mut BytesMut) {
        let statement = &self.statements[nth];
        if self.protocol == PostgresProtocol::Simple {
            text.clear();
            for (nth, piece) in statement.pieces.iter().enumerate() {
                text.push_str(piece);
                if let Some(value) = statement.values.get(nth) {
                    let _ = write!(text, "{}", asked.value(*value));
                }
            }
            written(frontend::query(text, into));
            return;
        }
        // As libpq's PQsendQueryParams and PQsendQueryPrepared have it.
        let name = match self.protocol {
            PostgresProtocol::Prepared => statement.name.as_str(),
            _ => {
                written(frontend::parse("", &statement.numbered, [], into));
                ""
            }
        };
        let values = statement.values.iter().map(|&value| asked.value(value));
        let as_text = |value: i64, into: &mut BytesMut| {
            write!(into, "{value}")?;
            Ok(IsNull::No)
        };
        let bound = frontend::bind("", name, [], values, as_text, [0], into);
        assert!(bound.is_ok(), "few and short values fit into a message");
        written(frontend::describe(b'P', "", into));
        written(frontend::execute("", 0, into));
        frontend::sync(into);
    }
}

/// Messages are short, and names in them have no zero bytes.
pub(super) fn written(message: std::io::Result<()>) {
    if let Err(error) = message {
        debug_assert!(false, "{error}");
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::load::postgres::Isolation;

    use super::*;

    fn asked() -> Transaction {
        Transaction { account: 7, branch: 1, teller: 3, delta: -42 }
    }

    fn said(load: &PostgresLoad, nth: usize) -> String {
        let (mut text, mut into) = (String::new(), BytesMut::new());
        Script::new(load).say(nth, asked(), &mut text, &mut into);
        String::from_utf8_lossy(&into).into_owned()
    }

    #[test]
    fn values_stand_in_the_text_or_beside_it() {
        let simple = PostgresLoad::default();
        assert_eq!(&said(&simple, 0)[5..], "BEGIN;\0");
        let text = "UPDATE pgbench_accounts SET abalance = abalance + -42 WHERE aid = 7;\0";
        assert_eq!(&said(&simple, 1)[5..], text);
        let noted = said(&simple, 5);
        assert!(noted.contains("VALUES (3, 1, 7, -42, CURRENT_TIMESTAMP);"), "{noted}");
        let prepared = PostgresLoad { protocol: PostgresProtocol::Prepared, ..simple.clone() };
        let said_prepared = said(&prepared, 1);
        assert!(!said_prepared.contains("UPDATE") && said_prepared.contains("P_1\0"), "{said_prepared:?}");
        assert!(said_prepared.contains("-42\0\0\0\u{1}7"), "{said_prepared:?}");
        let extended = PostgresLoad { protocol: PostgresProtocol::Extended, ..simple };
        assert!(said(&extended, 1).contains("abalance + $1 WHERE aid = $2;"));
    }

    #[test]
    fn an_isolation_stands_in_the_first_statement() {
        let load = PostgresLoad { isolation: Some(Isolation::Serializable), ..PostgresLoad::default() };
        assert!(said(&load, 0).contains("BEGIN ISOLATION LEVEL SERIALIZABLE;"));
    }

    #[test]
    fn values_lie_within_the_tables() {
        use rand::SeedableRng;
        let script = Script::new(&PostgresLoad { scale: 2, ..PostgresLoad::default() });
        let mut random = SmallRng::seed_from_u64(1);
        let drawn: Vec<Transaction> = (0..10_000).map(|_| script.draw(&mut random)).collect();
        assert!(drawn.iter().all(|t| (1..=200_000).contains(&t.account) && (1..=2).contains(&t.branch)));
        assert!(drawn.iter().all(|t| (1..=20).contains(&t.teller) && (-5000..=5000).contains(&t.delta)));
        assert!(drawn.iter().any(|t| t.account > 100_000) && drawn.iter().any(|t| t.branch == 2));
    }
}
