//! Transactions on PostgreSQL, as pgbench has them: what is said, and how answers are read.

mod script;
mod session;

use plimsoll_model::experiment::PostgresLoad;
use plimsoll_model::experiment::load::postgres::PostgresFacts;
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::{ErrorKind, LoadResult};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use self::script::{Script, Transaction};
use self::session::{Next, Session};
use super::course::Course;
use super::protocol::{Batch, Pieces, Protocol, Turn};
use super::tally::Tally;
use super::{Control, run_loop};

/// Carries the load out, on the event loop.
///
/// # Errors
/// When it cannot start.
pub(super) fn run(
    spec: &LoadSpec,
    load: &PostgresLoad,
    control: &Control<'_>,
) -> Result<LoadResult, Failure> {
    run_loop(spec, &load.into(), control, |seed| Postgres::new(load, seed))
}

impl From<&PostgresLoad> for Course {
    fn from(load: &PostgresLoad) -> Self {
        Self {
            generators: load.generators.max(1),
            concurrency: load.clients,
            connections: load.transactions.filter(|_| load.open.is_some()),
            requests: load.transactions.filter(|_| load.open.is_none()),
            duration: load.duration.map(|span| span.0),
            open: load.open.clone(),
            most_per_second: None,
            timeout: load.timeout.0,
            requests_per_connection: 0,
            pipeline: 1,
            seed: load.seed,
        }
    }
}

/// A generator of transactions.
struct Postgres {
    script: Script,
    random: SmallRng,
    facts: PostgresFacts,
}

impl Postgres {
    fn new(load: &PostgresLoad, seed: u64) -> Self {
        let random = SmallRng::seed_from_u64(seed);
        Self { script: Script::new(load), random, facts: PostgresFacts::default() }
    }
}

impl Protocol for Postgres {
    type Reply = Session;
    type Request = Transaction;

    /// The message Terminate, with its length.
    const GOODBYE: &'static [u8] = b"X\0\0\0\x04";

    fn choose(&mut self) -> Transaction {
        self.script.draw(&mut self.random)
    }

    fn begin(&self, asked: Transaction, session: &mut Session, fresh: bool) {
        if fresh {
            session.greet(&self.script);
        } else {
            session.begin(&self.script, asked);
        }
    }

    fn request<'p>(&'p mut self, _: Transaction, session: &'p Session, _: usize, _: Batch) -> Pieces<'p> {
        Pieces([session.words(), &[], &[]])
    }

    fn receive(
        &mut self,
        asked: Transaction,
        session: &mut Session,
        bytes: &[u8],
        _: u64,
    ) -> Result<(Turn, usize), ErrorKind> {
        let turn = match session.receive(&self.script, asked, bytes)? {
            Next::Listen => Turn::Theirs,
            Next::Speak => Turn::OursAgain,
            Next::Done(refusal) => {
                self.facts.transactions += 1;
                if let Some(state) = refusal.and(session.state()) {
                    *self.facts.aborted.entry(state.to_owned()).or_default() += 1;
                }
                Turn::Ours { stays: true, fault: refusal }
            }
        };
        Ok((turn, bytes.len()))
    }

    fn end_of_stream(&self, _: &Session) -> Result<Turn, ErrorKind> {
        Err(ErrorKind::Truncated)
    }

    fn unasked(&self, _: &mut Session, bytes: &[u8]) -> Result<(), ErrorKind> {
        // A server may report a setting, or its shutdown.
        match bytes.first() {
            Some(b'N' | b'S') => Ok(()),
            Some(b'E') => Err(ErrorKind::Truncated),
            _ => Err(ErrorKind::Garbage),
        }
    }

    fn complaint(&self, session: &Session) -> Option<String> {
        session.complaint().map(str::to_owned)
    }

    fn last_words(&self, session: &Session) -> Option<String> {
        session.complaint().map(str::to_owned)
    }

    fn add_to(self, tally: &mut Tally) {
        tally.found = Some(self.facts.into());
    }
}
