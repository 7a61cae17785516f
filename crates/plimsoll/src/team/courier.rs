//! What carries a run from this machine's file to a server, in a thread of its own: a server that neither answers nor goes away would hold the run up otherwise.

use std::cell::Cell;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_store::{Store, StoreError};

/// How often it is looked whether the user wants an end.
const LOOKS: Duration = Duration::from_millis(200);

/// What is to go to the server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Load {
    /// What there is of a run apart from its trials.
    Begun,
    /// That, and this trial.
    Trial(u32),
    /// All that the server has not got.
    Whole,
}

type Answer = Result<(), StoreError>;

pub(super) struct Courier {
    loads: Sender<(String, Load)>,
    answers: Receiver<Answer>,
    is_under_way: Cell<bool>,
    place: String,
}

impl Courier {
    /// One that has both stores for itself.
    pub(super) fn between(own: Store, team: Store) -> io::Result<Self> {
        let (loads, orders) = mpsc::channel::<(String, Load)>();
        let (answer, answers) = mpsc::channel();
        let place = team.place().to_string();
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
        Ok(Self { loads, answers, is_under_way: Cell::new(false), place })
    }

    /// Whether the server has not answered to the last that went to it.
    pub(super) fn waits(&self) -> bool {
        self.is_under_way.get()
    }

    /// Carries something to the server, unless that does not answer in time, or the user wants an end.
    pub(super) fn carry(&self, run: &str, load: Load, within: Duration, ends: &dyn Fn() -> bool) -> Answer {
        let deadline = Instant::now() + within;
        if self.is_under_way.get() {
            // What became of the last one is seen by the next.
            self.answer(deadline, within, ends)?.ok();
        }
        let gone = self.loads.send((run.to_owned(), load)).is_err();
        self.is_under_way.set(!gone);
        self.answer(deadline, within, ends)?
    }

    fn answer(
        &self,
        deadline: Instant,
        within: Duration,
        ends: &dyn Fn() -> bool,
    ) -> Result<Answer, StoreError> {
        let silent =
            |why: String| StoreError::Away { place: self.place.clone(), operation: "store the run", why };
        loop {
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
