//! Threads that make messages durable: they write them to the queue, flush, and only then release the reply to the
//! client.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::sys::eventfd::EventFd;
use plimsoll_model::experiment::Durability;

use super::courier::Post;
use super::queue::Queue;
use super::segment::Mail;
use crate::service::smtp::{Reply, Ticket};

/// The most messages that are flushed together.
const MOST_TOGETHER: usize = 1024;
/// The most bytes that are flushed together, unless a single message has more.
const MOST_BYTES: usize = 16 << 20;

const STORED: Reply = "250 2.0.0 stored";
const NO_ROOM: Reply = "452 4.3.1 there is no room for it";
const BROKEN: Reply = "451 4.3.0 it could not be stored";

/// Common state of intake, writers and courier.
pub(super) struct Writers {
    queue: Arc<Queue>,
    durability: Durability,
    post: Post,
    waiting: Mutex<VecDeque<Mail>>,
    more: Condvar,
    answers: Mutex<Vec<(Ticket, Reply)>>,
    waker: Arc<EventFd>,
}

impl Writers {
    pub(super) fn new(
        queue: Arc<Queue>,
        durability: Durability,
        post: Post,
        waker: Arc<EventFd>,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue,
            durability,
            post,
            waiting: Mutex::default(),
            more: Condvar::new(),
            answers: Mutex::default(),
            waker,
        })
    }

    /// How many threads are of use: what shares a flush is written by one.
    pub(super) fn threads(&self, wanted: u32) -> u32 {
        match self.durability {
            Durability::Fsync => wanted,
            Durability::GroupCommit => 1,
        }
    }

    /// Lets a message be stored.
    pub(super) fn store(&self, mail: Mail) {
        lock(&self.waiting).push_back(mail);
        self.more.notify_one();
    }

    /// The event that wakes the reader of the answers.
    pub(super) fn waker(&self) -> &EventFd {
        &self.waker
    }

    /// Moves the pending replies to clients into `into`.
    pub(super) fn answers(&self, into: &mut Vec<(Ticket, Reply)>) {
        into.append(&mut lock(&self.answers));
    }

    /// The life of a writer.
    pub(super) fn work(&self) {
        loop {
            let batch = self.next();
            match self.queue.store(&batch) {
                Ok(jobs) => {
                    self.reply(&batch, STORED);
                    self.post.deliver(jobs);
                }
                // There may be room for some of them.
                Err(_) if batch.len() > 1 => {
                    for mail in batch.chunks(1) {
                        self.store_one(mail);
                    }
                }
                Err(error) => self.reply(&batch, reason(&error)),
            }
        }
    }

    fn store_one(&self, mail: &[Mail]) {
        match self.queue.store(mail) {
            Ok(jobs) => {
                self.reply(mail, STORED);
                self.post.deliver(jobs);
            }
            Err(error) => self.reply(mail, reason(&error)),
        }
    }

    /// Next mail to store; waits for it.
    fn next(&self) -> Vec<Mail> {
        let waiting = self.more.wait_while(lock(&self.waiting), |waiting| waiting.is_empty());
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let number = match self.durability {
            Durability::Fsync => 1,
            Durability::GroupCommit => together(&waiting),
        };
        waiting.drain(..number).collect()
    }

    fn reply(&self, mails: &[Mail], reply: Reply) {
        lock(&self.answers).extend(mails.iter().map(|mail| (mail.ticket, reply)));
        // A counter that is full wakes as well.
        self.waker.write(1).ok();
    }
}

/// How many of those that wait are flushed together.
fn together(waiting: &VecDeque<Mail>) -> usize {
    let lengths = waiting.iter().scan(0, |sum, mail| {
        *sum += mail.text.len();
        Some(*sum)
    });
    lengths.take(MOST_TOGETHER).take_while(|&sum| sum <= MOST_BYTES).count().max(1)
}

fn reason(error: &io::Error) -> Reply {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOSPC | Errno::EDQUOT | Errno::EFBIG) => NO_ROOM,
        _ => BROKEN,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
