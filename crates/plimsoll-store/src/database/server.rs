//! A session with a PostgreSQL server, which is opened when it is needed, and reopened after the server was away.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use postgres::types::ToSql;
use postgres::{Client, Statement};

use super::address::Address;
use super::server_error::{ServerError, refused};
use super::value::{Row, Value};

/// Settings of every session. A server notices within half a minute that a client's machine is gone, and takes its
/// claims back.
const SESSION: &str = "
set client_min_messages to warning;
set search_path to plimsoll;
set tcp_keepalives_idle to 15;
set tcp_keepalives_interval to 5;
set tcp_keepalives_count to 3;
select set_config('idle_session_timeout', '0', false) where current_setting('idle_session_timeout', true) is not null;
";
const TAKE: &str = "select pg_try_advisory_lock($1)";
const GIVE_BACK: &str = "select pg_advisory_unlock($1)";
/// Whether another session holds a lock. The system's table has its number in two halves.
const HELD: &str = "
select 1 from pg_locks where locktype = 'advisory' and objsubid = 1 and granted and pid <> pg_backend_pid()
and database = (select oid from pg_database where datname = current_database())
and ((classid::bigint << 32) | objid::bigint) = $1";

/// Makes the tables of a new session's database what they have to be.
pub(crate) type Prepare = fn(&mut Client) -> Result<(), ServerError>;

/// A database on a server.
pub(crate) struct Server {
    address: Address,
    prepare: Prepare,
    state: Mutex<State>,
    answers: AtomicU64,
}

#[derive(Default)]
struct State {
    session: Option<Session>,
    in_transaction: bool,
    /// The runs that are claimed, each with the number of its lock. They are claimed again in a new session.
    claims: BTreeMap<String, i64>,
}

struct Session {
    client: Client,
    prepared: HashMap<String, Statement>,
}

impl fmt::Debug for Server {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Server({})", self.address)
    }
}

impl Server {
    /// Nothing is asked of the server yet.
    pub(crate) fn at(address: Address, prepare: Prepare) -> Self {
        Self { address, prepare, state: Mutex::default(), answers: AtomicU64::new(0) }
    }

    /// Opens the database in another session.
    pub(crate) fn another_session(&self) -> Self {
        Self::at(self.address.clone(), self.prepare)
    }

    /// How many answers have come until now. It can be asked while another thread waits for one.
    pub(crate) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Makes a session where there is none.
    pub(crate) fn reach(&self) -> Result<(), ServerError> {
        self.with(|_| Ok(()))
    }

    pub(crate) fn execute(&self, statement: &str, values: &[Value]) -> Result<usize, ServerError> {
        let values = as_values(values);
        self.with(|session| {
            let statement = session.prepared(statement)?;
            let rows = session.client.execute(&statement, &values)?;
            Ok(usize::try_from(rows).unwrap_or(usize::MAX))
        })
    }

    pub(crate) fn query(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, ServerError> {
        let values = as_values(values);
        self.with(|session| {
            let statement = session.prepared(statement)?;
            session.client.query(&statement, &values)?.iter().map(Row::of_server).collect()
        })
    }

    pub(crate) fn begin(&self) -> Result<(), ServerError> {
        self.with(|session| session.client.batch_execute("begin"))?;
        self.lock().in_transaction = true;
        Ok(())
    }

    pub(crate) fn commit(&self) -> Result<(), ServerError> {
        let committed = self.with(|session| session.client.batch_execute("commit"));
        self.lock().in_transaction = false;
        committed
    }

    pub(crate) fn roll_back(&self) {
        // A server that is away has rolled back itself.
        self.with(|session| session.client.batch_execute("rollback")).ok();
        self.lock().in_transaction = false;
    }

    /// Claims a run for as long as the session lasts, and for those that come after it; false where another session has it.
    pub(crate) fn claim(&self, run: &str, number: i64) -> Result<bool, ServerError> {
        let taken = self.with(|session| session.client.query_one(TAKE, &[&number])?.try_get(0))?;
        if taken {
            self.lock().claims.insert(run.to_owned(), number);
        }
        Ok(taken)
    }

    /// Gives a claim back, after a last statement about the run. A session that is broken has given it back already, and one that is busy with a server which does
    /// not answer gives it back when the process ends.
    pub(crate) fn give_back(&self, run: &str, last: &str) {
        let Ok(mut state) = self.state.try_lock() else { return };
        if let (Some(number), Some(session)) = (state.claims.remove(run), &mut state.session) {
            session.client.execute(&numbered(last), &[&run]).ok();
            session.client.query_one(GIVE_BACK, &[&number]).ok();
        }
    }

    /// Whether another session has claimed it.
    pub(crate) fn is_claimed(&self, number: i64) -> Result<bool, ServerError> {
        self.with(|session| Ok(session.client.query_opt(HELD, &[&number])?.is_some()))
    }

    /// Does something in the session. A broken session is reopened, once; but not in the middle of a transaction, which
    /// is lost then.
    fn with<T>(
        &self,
        mut work: impl FnMut(&mut Session) -> Result<T, postgres::Error>,
    ) -> Result<T, ServerError> {
        let mut state = self.lock();
        let is_old = state.session.is_some();
        if !is_old {
            self.connect(&mut state)?;
        }
        let done = match state.work(&mut work) {
            Err(ServerError::Away(_)) if is_old && !state.in_transaction => {
                self.connect(&mut state)?;
                state.work(&mut work)
            }
            done => done,
        };
        self.answers.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
        done
    }

    fn connect(&self, state: &mut State) -> Result<(), ServerError> {
        if state.in_transaction {
            return Err(ServerError::Away("the connection broke".into()));
        }
        let mut client = self.address.connect()?;
        (self.prepare)(&mut client)?;
        client.batch_execute(SESSION).map_err(|error| refused(&error))?;
        for (run, number) in &state.claims {
            let taken: bool = client
                .query_one(TAKE, &[number])
                .and_then(|row| row.try_get(0))
                .map_err(|error| refused(&error))?;
            if !taken {
                return Err(ServerError::Taken(run.clone()));
            }
        }
        state.session = Some(Session { client, prepared: HashMap::new() });
        Ok(())
    }

    /// The session that a panicked thread left is as good as any other.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn work<T>(
        &mut self,
        work: &mut impl FnMut(&mut Session) -> Result<T, postgres::Error>,
    ) -> Result<T, ServerError> {
        let Some(session) = &mut self.session else {
            return Err(ServerError::Away("there is no connection".into()));
        };
        work(session)
            .map_err(|error| {
                let is_broken = session.client.is_closed();
                match refused(&error) {
                    ServerError::Refused(why) if is_broken => ServerError::Away(why),
                    why => why,
                }
            })
            .inspect_err(|error| {
                if matches!(error, ServerError::Away(_)) {
                    self.session = None;
                }
            })
    }
}

impl Session {
    fn prepared(&mut self, statement: &str) -> Result<Statement, postgres::Error> {
        if let Some(found) = self.prepared.get(statement) {
            return Ok(found.clone());
        }
        let prepared = self.client.prepare(&numbered(statement))?;
        self.prepared.insert(statement.to_owned(), prepared.clone());
        Ok(prepared)
    }
}

fn as_values(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// A statement with PostgreSQL's marks for values: `$1` where SQLite has `?1`, and the next number where it has `?`.
fn numbered(statement: &str) -> String {
    let mut parts = statement.split('?');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for (part, number) in parts.zip(1..) {
        whole.push('$');
        if !part.starts_with(|letter: char| letter.is_ascii_digit()) {
            whole.push_str(&u32::to_string(&number));
        }
        whole.push_str(part);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbered_as_postgresql_has_them() {
        assert_eq!(numbered("a = ?2 and b = ?1"), "a = $2 and b = $1");
        assert_eq!(
            numbered("a = ? or b like ? escape '\\' limit ?"),
            "a = $1 or b like $2 escape '\\' limit $3"
        );
        assert_eq!(numbered("select 1"), "select 1");
    }
}
