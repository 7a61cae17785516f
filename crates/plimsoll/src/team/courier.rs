//! Carries a run from this machine's file to a server, in a thread of its own: a server that neither answers nor goes away would hold the run up otherwise.

use std::cell::Cell;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_store::{Store, StoreError};

/// How often it is looked whether the user wants an end.
const LOOKS: Duration = Duration::from_millis(200);

/// The part of a run to send to the server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Load {
    /// All of a run apart from its trials.
    Begun,
    /// That, and this trial.
    Trial(u32),
    /// All that the server lacks.
    Whole,
}

type Delivery = Result<(), StoreError>;

pub(super) struct Courier {
    loads: Sender<(String, Load)>,
    answers: Receiver<Delivery>,
    is_under_way: Cell<bool>,
    /// The server, to see whether it answers.
    watched: Store,
}

impl Courier {
    /// A courier that has both stores for itself. `watched` is the server in the same session as `team`.
    pub(super) fn between(own: Store, team: Store, watched: Store) -> io::Result<Self> {
        let (loads, orders) = mpsc::channel::<(String, Load)>();
        let (answer, answers) = mpsc::channel();
        let carry = move || {
            for (run, load) in orders {
                let carried = match load {
                    Load::Begun => own.copy_begun(&run, &team),
                    Load::Trial(number) => own.copy_trial(&run, number, &team),
                    Load::Whole => own.copy_run(&run, &team).map(drop),
                };
                if answer.send(carried).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().name("courier".into()).spawn(carry)?;
        Ok(Self { loads, answers, is_under_way: Cell::new(false), watched })
    }

    /// Carries something to the server, unless that does not answer in time, or the user wants an end. What is large takes many answers, and as long as it
    /// takes. If the server has not answered to the last yet, that is waited for first, for as long as `last` says.
    pub(super) fn carry(
        &self,
        run: &str,
        load: Load,
        [last, within]: [Duration; 2],
        ends: &dyn Fn() -> bool,
    ) -> Delivery {
        if self.is_under_way.get() {
            // The next query shows the outcome.
            self.answer(last, ends)?.ok();
        }
        let gone = self.loads.send((run.to_owned(), load)).is_err();
        self.is_under_way.set(!gone);
        self.answer(within, ends)?
    }

    fn answer(&self, within: Duration, ends: &dyn Fn() -> bool) -> Result<Delivery, StoreError> {
        let silent = |why: String| StoreError::Away {
            place: self.watched.place().to_string(),
            operation: "store the run",
            why,
        };
        let mut answers = self.watched.answers();
        let mut deadline = Instant::now() + within;
        loop {
            let now = self.watched.answers();
            if std::mem::replace(&mut answers, now) != now {
                deadline = Instant::now() + within;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left.min(LOOKS)) {
                Ok(answer) => {
                    self.is_under_way.set(false);
                    return Ok(answer);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(silent("what carries runs there has ended".into()));
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(silent(format!("it has not answered for {:.0} s", within.as_secs_f64())));
                }
                Err(RecvTimeoutError::Timeout) if ends() => {
                    return Err(silent("it has not answered until the run was interrupted".into()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
