//! The relay for mail: it stores each message, says 250, and forwards it.
//!
//! Three kinds of threads: one with an event loop takes messages in, writers make them durable, and one with an event loop of its own
//! delivers them. What is in the queue's folder is all that the relay knows; it begins with that after a crash.

mod courier;
mod ends;
mod flushes;
mod queue;
mod segment;
mod session;
mod writers;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::Builder;
use std::time::Instant;

use nix::sys::eventfd::EventFd;
use plimsoll_model::experiment::MailRelayService;
use plimsoll_model::frame::Failure;

use self::courier::{Courier, Terms};
use self::ends::Ends;
pub use self::flushes::FlushReader;
use self::flushes::Flushes;
use self::queue::Queue;
use self::segment::Mail;
use self::writers::Writers;
use super::smtp::{self, Desk, Envelope, Outcome, Reply, Ticket};
use super::{listen, process};
use crate::date;
use crate::failure::{other, refused};

/// Relays from `listeners` to `to`, until killed. The queue lies where the options say, else in `folder`.
pub(super) fn serve(
    options: &MailRelayService,
    to: &[SocketAddr],
    folder: Option<&Path>,
    listeners: Vec<TcpListener>,
    announce: impl FnOnce(&[SocketAddr]) -> Result<(), Failure>,
) -> Result<Infallible, Failure> {
    if to.is_empty() {
        return Err(other("start the relay", &"there is no address to forward messages to"));
    }
    process::survive_broken_pipes()?;
    let place =
        options.queue.as_ref().map(PathBuf::from).or_else(|| folder.map(|folder| folder.join("queue")));
    let place = place.ok_or_else(|| other("start the relay", &"there is no folder for its queue"))?;
    let flushes =
        Flushes::open(folder).map_err(|error| other("open the list of the relay's flushes", &error))?;
    let (queue, found) = Queue::open(&place, flushes)
        .map_err(|error| other(format!("open the queue in {}", place.display()), &error))?;
    let waker = || EventFd::new().map_err(|error| refused("make an event", error));
    let terms = Terms {
        sessions: options.deliveries as usize,
        retry: options.retry.0,
        retry_most: options.retry_most.0,
    };
    let queue = Arc::new(queue);
    let courier = Courier::new(to, terms, Ends::of(Arc::clone(&queue)), Arc::new(waker()?))
        .map_err(|error| refused("wait for events on sockets", error))?;
    let post = courier.post();
    post.deliver(found);
    let writers = Writers::new(queue, options.durability, post, Arc::new(waker()?));
    for nth in 0..writers.threads(options.writers) {
        let writers = Arc::clone(&writers);
        vital(format!("writer {}", nth + 1), move || writers.work())?;
    }
    vital("courier".into(), move || courier.work())?;
    announce(&listen::addresses(&listeners)?)?;
    let desk = Intake { writers, longest: options.max_message.0 };
    smtp::serve(desk, listeners, options.clients, options.backlog)
}

/// Starts a thread that the relay cannot do without: when it ends, so does the process, like in a crash.
fn vital(name: String, body: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    struct Vital;
    impl Drop for Vital {
        fn drop(&mut self) {
            std::process::abort();
        }
    }
    let body = move || {
        let _vital = Vital;
        body();
    };
    Builder::new()
        .name(name)
        .spawn(body)
        .map(drop)
        .map_err(|error| other("start a thread of the relay", &error))
}

/// Takes messages in.
struct Intake {
    writers: Arc<Writers>,
    longest: u64,
}

impl Desk for Intake {
    fn offers_pipelining(&self) -> bool {
        true
    }

    fn longest(&self) -> u64 {
        self.longest
    }

    /// Stores a message with its trace header (RFC 5321, section 4.4), in the form in which it will be sent.
    fn message(
        &mut self,
        ticket: Ticket,
        envelope: &mut Envelope,
        wire: &mut Vec<u8>,
        _: Instant,
    ) -> Outcome {
        let trace = format!("Received: by plimsoll.example (Plimsoll) with ESMTP; {}\r\n", date::of_mail());
        let mail = Mail {
            ticket,
            envelope: std::mem::take(envelope),
            trace: trace.into_bytes(),
            text: std::mem::take(wire),
        };
        self.writers.store(mail);
        Outcome::Later
    }

    fn answers(&mut self, _: Instant, into: &mut Vec<(Ticket, Reply)>) {
        self.writers.answers(into);
    }

    fn waker(&self) -> Option<&EventFd> {
        Some(self.writers.waker())
    }
}
