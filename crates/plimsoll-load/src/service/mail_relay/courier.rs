//! Delivery of messages: one thread with an event loop, several sessions side by side, and retries of failed messages.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use slab::Slab;

use super::ends::Ends;
use super::segment::{Job, Segment};
use super::session::{Progress, Session};

/// The most events that are taken at a time.
const EVENTS: usize = 64;
/// The key of the waker.
const WAKER: u64 = u64::MAX;
/// How long the next service may take for anything (RFC 5321, section 4.5.3.2, has minutes for people's links).
const SILENCE: Duration = Duration::from_secs(60);
/// How often it is looked who has kept silent for too long.
const SWEEP: Duration = Duration::from_secs(1);

/// How messages are delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// The most sessions at a time.
    pub(super) sessions: usize,
    /// How long a message waits after its first failure.
    pub(super) retry: Duration,
    /// How long it waits at most.
    pub(super) retry_most: Duration,
}

impl Terms {
    /// How long to wait after `failures` failures in a row.
    fn pause(self, failures: u32) -> Duration {
        self.retry.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(self.retry_most)
    }
}

/// Queue of messages to deliver.
#[derive(Clone)]
pub(super) struct Post {
    jobs: Arc<Mutex<Vec<Job>>>,
    waker: Arc<EventFd>,
}

impl Post {
    /// Lets messages be delivered.
    pub(super) fn deliver(&self, jobs: Vec<Job>) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).extend(jobs);
        // A counter that is full wakes as well.
        self.waker.write(1).ok();
    }

    fn take(&self) -> Vec<Job> {
        std::mem::take(&mut self.jobs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Delivers messages.
pub(super) struct Courier {
    to: Vec<SocketAddr>,
    next: usize,
    terms: Terms,
    post: Post,
    ends: Ends,
    epoll: Epoll,
    sessions: Slab<Session>,
    /// Keys of sessions that have nothing to do.
    idle: Vec<usize>,
    /// Messages whose turn it is.
    due: VecDeque<Job>,
    later: BinaryHeap<Reverse<Later>>,
    /// How often in a row no session could be had, and until when none is tried.
    unreachable: (u32, Option<Instant>),
}

impl Courier {
    pub(super) fn new(
        to: &[SocketAddr],
        terms: Terms,
        ends: Ends,
        waker: Arc<EventFd>,
    ) -> Result<Self, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&*waker, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, WAKER))?;
        Ok(Self {
            to: to.to_vec(),
            next: 0,
            terms,
            post: Post { jobs: Arc::default(), waker },
            ends,
            epoll,
            sessions: Slab::new(),
            idle: Vec::new(),
            due: VecDeque::new(),
            later: BinaryHeap::new(),
            unreachable: (0, None),
        })
    }

    /// Where to put messages.
    pub(super) fn post(&self) -> Post {
        self.post.clone()
    }

    /// Its life.
    pub(super) fn work(mut self) {
        let mut events = [EpollEvent::empty(); EVENTS];
        let mut swept = Instant::now();
        loop {
            self.due.extend(self.post.take());
            let now = Instant::now();
            while self.later.peek().is_some_and(|Reverse(later)| later.at <= now) {
                self.due.extend(self.later.pop().map(|Reverse(later)| later.job));
            }
            self.dispatch(now);
            let arrived = self.epoll.wait(&mut events, self.sleep(now)).unwrap_or(0);
            let now = Instant::now();
            for event in events[..arrived].iter().filter(|event| event.data() != WAKER) {
                self.attend(event.data() as usize, event.events(), now);
            }
            if now.duration_since(swept) >= SWEEP {
                swept = now;
                self.sweep(now);
                self.ends.flush();
            }
        }
    }

    fn sleep(&self, now: Instant) -> EpollTimeout {
        let later = self.later.peek().map(|Reverse(later)| later.at);
        let gate = self.unreachable.1.filter(|_| !self.due.is_empty());
        let until = [later, gate].into_iter().flatten().min();
        let until = until.map_or(SWEEP, |time| time.saturating_duration_since(now).min(SWEEP));
        let millis = u64::try_from(until.as_nanos().div_ceil(1_000_000)).unwrap_or(0);
        EpollTimeout::try_from(millis).unwrap_or(EpollTimeout::ZERO)
    }

    /// Gives messages to sessions, as long as there are both.
    fn dispatch(&mut self, now: Instant) {
        while !self.due.is_empty() {
            let key = match self.idle.pop() {
                Some(key) => key,
                None if self.may_connect(now) => match self.connect(now) {
                    Some(key) => key,
                    None => return,
                },
                None => return,
            };
            let Some(job) = self.due.pop_front() else { return };
            let progress = self.sessions[key].carry(job, now);
            self.settle(key, progress, now);
        }
    }

    /// After a failure one session is tried alone, and all others when it works.
    fn may_connect(&mut self, now: Instant) -> bool {
        if self.unreachable.1.is_some_and(|until| until > now) {
            return false;
        }
        let most = if self.unreachable.0 > 0 { 1 } else { self.terms.sessions };
        self.sessions.len() < most
    }

    fn connect(&mut self, now: Instant) -> Option<usize> {
        let to = self.to[self.next % self.to.len()];
        self.next += 1;
        let session = Session::connect(to, now).ok().and_then(|session| {
            let entry = self.sessions.vacant_entry();
            let flags =
                EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
            let event = EpollEvent::new(flags, entry.key() as u64);
            let key = entry.key();
            self.epoll.add(session.stream().as_fd(), event).ok()?;
            entry.insert(session);
            Some(key)
        });
        if session.is_none() {
            self.cannot_connect(now);
        }
        session
    }

    fn cannot_connect(&mut self, now: Instant) {
        // Sessions that were begun together fail together, and count once.
        if self.unreachable.1.is_some_and(|until| until > now) {
            return;
        }
        let failures = self.unreachable.0.saturating_add(1);
        self.unreachable = (failures, Some(now + self.terms.pause(failures)));
    }

    fn attend(&mut self, key: usize, flags: EpollFlags, now: Instant) {
        // It may have gone by an event before this one.
        let Some(session) = self.sessions.get_mut(key) else { return };
        let progress = session.go_on(flags, now);
        self.settle(key, progress, now);
    }

    /// Does what follows from the progress of a session.
    fn settle(&mut self, key: usize, progress: Progress, now: Instant) {
        match progress {
            Progress::Waits => {}
            Progress::Done { refusal, stays } => {
                self.unreachable = (0, None);
                if let Some(job) = self.sessions[key].take_job() {
                    match refusal {
                        None => self.end(job.done()),
                        Some(refusal) if refusal.is_temporary() => self.put_off(job, now),
                        Some(_) => self.end(job.hold()),
                    }
                }
                if stays {
                    self.idle.push(key);
                } else {
                    self.sessions.remove(key);
                }
            }
            Progress::Broken => {
                let mut session = self.sessions.remove(key);
                self.idle.retain(|&idle| idle != key);
                let Some(job) = session.take_job() else { return };
                if session.was_greeted() {
                    self.put_off(job, now);
                } else {
                    // The message is not to blame: it keeps its place.
                    self.due.push_front(job);
                    self.cannot_connect(now);
                }
            }
        }
    }

    /// A file that cannot be changed is delivered once more after the next start.
    fn end(&mut self, ended: io::Result<Option<Arc<Segment>>>) {
        if let Ok(marked) = ended {
            self.ends.note(marked);
        }
    }

    fn put_off(&mut self, mut job: Job, now: Instant) {
        job.failures = job.failures.saturating_add(1);
        self.later.push(Reverse(Later { at: now + self.terms.pause(job.failures), job }));
    }

    fn sweep(&mut self, now: Instant) {
        let late = |session: &Session| session.is_busy() && now.duration_since(session.heard()) >= SILENCE;
        let late: Vec<usize> =
            self.sessions.iter().filter(|(_, session)| late(session)).map(|(key, _)| key).collect();
        for key in late {
            self.settle(key, Progress::Broken, now);
        }
    }
}

/// A message that waits for another attempt.
struct Later {
    at: Instant,
    job: Job,
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Later {}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Later {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let terms = Terms { sessions: 1, retry: Duration::from_secs(1), retry_most: Duration::from_secs(10) };
        let pauses: Vec<u64> = (1..=6).map(|failures| terms.pause(failures).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 10, 10]);
        assert_eq!(terms.pause(u32::MAX), terms.retry_most);
    }
}
