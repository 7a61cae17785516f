//! A session with the next service, which carries one message after the other.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::sendfile::sendfile;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, setsockopt, socket, sockopt,
};

use super::segment::Job;
use crate::smtp::dialog::{Dialog, Next, Refusal};

/// How much of the replies is read at a time, in bytes.
const INBOX: usize = 4096;
/// The most that is handed to the kernel in one call, in bytes.
const CHUNK: u64 = 1 << 20;

/// Result of an event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Progress {
    /// The session waits for another event.
    Waits,
    /// The message is done with.
    Done { refusal: Option<Refusal>, stays: bool },
    /// The session is of no use any more.
    Broken,
}

/// A session.
pub(super) struct Session {
    stream: TcpStream,
    dialog: Dialog,
    greeted: bool,
    job: Option<Job>,
    /// Commands that are still to be sent.
    words: String,
    /// The text that is still to be sent.
    text: Option<Text>,
    heard: Instant,
}

/// A part of a file.
struct Text {
    file: File,
    at: i64,
    left: u64,
}

impl Session {
    /// Begins to connect.
    pub(super) fn connect(to: SocketAddr, now: Instant) -> io::Result<Self> {
        let family = if to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd: OwnedFd = socket(family, SockType::Stream, flags, None)?;
        setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
        match connect(fd.as_raw_fd(), &SockaddrStorage::from(to)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self {
            stream: fd.into(),
            dialog: Dialog::default(),
            greeted: false,
            job: None,
            words: String::new(),
            text: None,
            heard: now,
        })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Whether the service has said anything.
    pub(super) fn was_greeted(&self) -> bool {
        self.greeted
    }

    pub(super) fn is_busy(&self) -> bool {
        self.job.is_some()
    }

    /// When something came or went last.
    pub(super) fn heard(&self) -> Instant {
        self.heard
    }

    /// Takes its message from it.
    pub(super) fn take_job(&mut self) -> Option<Job> {
        (self.text, self.heard) = (None, Instant::now());
        self.words.clear();
        self.job.take()
    }

    /// Carries a message; on a session that is new the service speaks first.
    pub(super) fn carry(&mut self, job: Job, now: Instant) -> Progress {
        self.heard = now;
        let recipients = job.envelope.recipients.len() as u32;
        self.job = Some(job);
        if !self.greeted {
            self.dialog.first(recipients);
            return Progress::Waits;
        }
        self.dialog.begin(recipients);
        self.say_commands();
        self.send()
    }

    /// Bytes can be sent, or have come.
    pub(super) fn go_on(&mut self, flags: EpollFlags, now: Instant) -> Progress {
        self.heard = now;
        if flags.contains(EpollFlags::EPOLLERR) {
            return Progress::Broken;
        }
        if matches!(self.send(), Progress::Broken) {
            return Progress::Broken;
        }
        if flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP) {
            return self.listen();
        }
        Progress::Waits
    }

    fn listen(&mut self) -> Progress {
        let mut inbox = [0; INBOX];
        loop {
            let length = match self.stream.read(&mut inbox) {
                Ok(0) => return Progress::Broken,
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::Waits,
                Err(_) => return Progress::Broken,
            };
            // Nothing was said that this could answer.
            if self.job.is_none() {
                return Progress::Broken;
            }
            let next = self.dialog.receive(&inbox[..length], true, |_| {});
            self.greeted = true;
            let sent = match next {
                Err(_) => Progress::Broken,
                Ok(Next::Listen) => Progress::Waits,
                Ok(Next::Command) => {
                    self.say_commands();
                    self.send()
                }
                Ok(Next::Text) => self.say_text().map_or(Progress::Broken, |()| self.send()),
                Ok(Next::Done { refusal, stays }) => return Progress::Done { refusal, stays },
            };
            if matches!(sent, Progress::Broken) {
                return sent;
            }
        }
    }

    fn say_commands(&mut self) {
        let Some(job) = &self.job else { return };
        let text = |address: &[u8]| String::from_utf8_lossy(address).into_owned();
        let recipients: Vec<String> = job.envelope.recipients.iter().map(|address| text(address)).collect();
        let recipients: Vec<&str> = recipients.iter().map(String::as_str).collect();
        self.dialog.commands(&text(&job.envelope.sender), &recipients, &mut self.words);
    }

    fn say_text(&mut self) -> io::Result<()> {
        if let Some(job) = &self.job {
            let (at, left) = job.text;
            let at = i64::try_from(at).map_err(io::Error::other)?;
            self.text = Some(Text { file: job.open()?, at, left });
        }
        Ok(())
    }

    /// Sends what the kernel takes.
    fn send(&mut self) -> Progress {
        while !self.words.is_empty() {
            match self.stream.write(self.words.as_bytes()) {
                Ok(sent) => drop(self.words.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::Waits,
                Err(_) => return Progress::Broken,
            }
        }
        while let Some(text) = &mut self.text {
            let most = text.left.min(CHUNK) as usize;
            match sendfile(&self.stream, &text.file, Some(&mut text.at), most) {
                // It has become shorter.
                Ok(0) => return Progress::Broken,
                Ok(sent) => text.left -= sent as u64,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return Progress::Waits,
                Err(_) => return Progress::Broken,
            }
            if text.left == 0 {
                self.text = None;
            }
        }
        Progress::Waits
    }
}
