//! Blocks of trials on a fake queue, whose tasks end at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_host::queue::{Queue, QueueError, Task, TaskState};
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::report::RunStatus;
use plimsoll_run::{Ended, Event, Limits, Queued, Results, RunError, TaskEnd};

use crate::{CONTENT, Fixed, Lab};

struct FakeQueue {
    results: Results,
    submitted: RefCell<Vec<Vec<u32>>>,
    /// Blocks whose machine is lost the first time.
    loses: RefCell<BTreeSet<u32>>,
    /// A block without a result.
    fails: Option<u32>,
    /// Whether it never starts anything.
    is_full: bool,
    cancelled: Cell<bool>,
    at_once: Option<u32>,
    forgotten: Cell<bool>,
}

impl FakeQueue {
    fn in_folder_of(lab: &Lab) -> Self {
        Self {
            results: Results::at(lab.folder.path().join("queue")),
            submitted: RefCell::default(),
            loses: RefCell::default(),
            fails: None,
            is_full: false,
            cancelled: Cell::new(false),
            at_once: None,
            forgotten: Cell::new(false),
        }
    }

    fn run(&self, lab: &Lab, judge: Fixed, min_trials: u32, max_trials: u32) -> Ended {
        let queued = Queued {
            plan: &lab.plan,
            queue: self,
            results: &self.results,
            judge: &judge,
            store: &lab.store,
            interrupt: &lab.interrupt,
            limits: Limits { min_trials, max_trials, budget: None, aa_test: 0 },
            start_within: Some(Duration::from_millis(300)),
        };
        let entry = lab.store.run("run").unwrap().unwrap_or_else(|| lab.entry(7));
        queued.carry_out(entry, &mut |_: &Event<'_>| {}, &mut |_| Ok(()))
    }
}

impl Queue for FakeQueue {
    fn submit(&self, numbers: &[u32]) -> Result<(), QueueError> {
        self.submitted.borrow_mut().push(numbers.to_vec());
        for block in numbers.iter().copied().filter(|_| !self.is_full) {
            if self.loses.borrow_mut().remove(&block) {
                continue;
            }
            let error = (self.fails == Some(block)).then(|| ("it is broken".to_owned(), None));
            if error.is_none() {
                let trial = TrialRecord { number: block, block, ..TrialRecord::default() };
                self.results.put_trial(block, "n1", &trial).unwrap();
            }
            let end = TaskEnd { error, fault: None, notes: Vec::new(), measured_on: serde_json::Value::Null };
            self.results.put_end(block, "n1", &end).unwrap();
        }
        Ok(())
    }

    fn tasks(&self) -> Result<Vec<Task>, QueueError> {
        let waits = |number: &u32| Task { number: *number, state: TaskState::Waiting("Priority".into()) };
        let is_there = self.is_full && !self.cancelled.get();
        Ok(self.submitted.borrow().iter().flatten().filter(|_| is_there).map(waits).collect())
    }

    fn cancel(&self) -> Result<(), QueueError> {
        self.cancelled.set(true);
        Ok(())
    }

    fn at_once(&self) -> Option<u32> {
        self.at_once
    }

    fn forget_ended(&self) -> Result<(), QueueError> {
        self.forgotten.set(true);
        Ok(())
    }
}

fn numbers(ended: &Ended) -> Vec<u32> {
    ended.trials.iter().map(|trial| trial.number).collect()
}

#[test]
fn no_more_blocks_are_submitted_than_needed_and_a_lost_one_is_submitted_again() {
    let lab = Lab::new();
    let queue = FakeQueue::in_folder_of(&lab);
    queue.loses.borrow_mut().insert(2);
    let ended = queue.run(&lab, Fixed { decided_after: 3, ..CONTENT }, 2, 6);
    assert_eq!(ended.entry.status, RunStatus::Complete, "{:?}", ended.error);
    assert_eq!(*queue.submitted.borrow(), [vec![1, 2], vec![2], vec![3, 4]]);
    assert_eq!(numbers(&ended), [1, 2, 3, 4], "each once");
    assert_eq!(lab.store.trials("run").unwrap().len(), 4);
    let notes: Vec<&str> = ended.entry.notes.iter().map(|note| note.text.as_str()).collect();
    assert!(notes.iter().any(|note| note.starts_with("block 2 was submitted again")), "{notes:?}");
    assert!(notes.contains(&"blocks 1, 2, 3, 4 carried out on the machine `n1`"), "{notes:?}");
    assert!(queue.forgotten.get() && !queue.cancelled.get());
}

#[test]
fn a_queue_that_does_not_hold_back_tasks_itself_gets_no_more_than_may_be_there() {
    let lab = Lab::new();
    let queue = FakeQueue { at_once: Some(2), ..FakeQueue::in_folder_of(&lab) };
    let ended = queue.run(&lab, CONTENT, 5, 5);
    assert_eq!(ended.entry.status, RunStatus::Complete, "{:?}", ended.error);
    assert_eq!(*queue.submitted.borrow(), [vec![1, 2], vec![3, 4], vec![5]]);
    assert_eq!(numbers(&ended), [1, 2, 3, 4, 5]);
    // Existing tasks take part of that room.
    let full = FakeQueue { at_once: Some(2), is_full: true, ..FakeQueue::in_folder_of(&Lab::new()) };
    full.run(&Lab::new(), CONTENT, 5, 5);
    assert_eq!(*full.submitted.borrow(), [vec![1, 2]]);
}

#[test]
fn a_block_that_comes_to_nothing_ends_the_run_which_goes_on_with_it_when_that_is_mended() {
    let lab = Lab::new();
    let broken = FakeQueue { fails: Some(2), ..FakeQueue::in_folder_of(&lab) };
    let ended = broken.run(&lab, CONTENT, 3, 3);
    assert!(matches!(&ended.error, Some(RunError::Task { block: 2, what, .. }) if what == "it is broken"));
    assert_eq!((ended.entry.status, numbers(&ended)), (RunStatus::Failed, vec![1, 3]));
    let mended = FakeQueue::in_folder_of(&lab);
    let ended = mended.run(&lab, CONTENT, 3, 3);
    assert_eq!(*mended.submitted.borrow(), [vec![2]]);
    assert_eq!((ended.entry.status, numbers(&ended)), (RunStatus::Complete, vec![1, 2, 3]));
}

#[test]
fn a_queue_that_starts_nothing_in_time_is_left() {
    let lab = Lab::new();
    let full = FakeQueue { is_full: true, ..FakeQueue::in_folder_of(&lab) };
    let ended = full.run(&lab, CONTENT, 2, 2);
    let message = ended.error.expect("it is an error").to_string();
    assert_eq!(message, "the queue started nothing within 0.3 s: the first task waits (Priority)");
    assert!(full.cancelled.get());
}
