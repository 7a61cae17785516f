//! TLS 1.3 between a load and the kernel: handshakes, what is sealed, what is opened.
//!
//! A session stands between what a protocol says and the socket of its connection, and takes the same calls as the socket does. The
//! certificate of the server is checked against the authority that the run has made for itself, and for nothing else.

use std::cell::RefCell;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send, sendmsg};
use plimsoll_model::frame::{CERTIFIED_NAME, Failure};
use rustls::client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, NamedGroup, RootCertStore};

use super::protocol::Pieces;
use crate::clock;
use crate::failure::other;

/// How much is taken from a socket at a time, in bytes. What comes of it fits into the inbox of a generator, with what was left of a record.
const SEALED: usize = 64 << 10;
/// The most tickets that are kept for later connections.
const TICKETS: usize = 4096;

thread_local! {
    /// What has come and was not opened yet.
    static INBOX: RefCell<Box<[u8]>> = RefCell::new(vec![0; SEALED].into());
}

/// What all sessions of a generator have in common.
pub(super) struct Secure {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Secure {
    /// Trusts the authority whose certificate is given in PEM, and speaks `protocol` (RFC 7301). Later connections resume what earlier
    /// ones agreed on where `resume` says so.
    pub(super) fn new(authority: &str, protocol: &[u8], resume: bool) -> Result<Self, Failure> {
        let failed = |error: &dyn std::error::Error| other("prepare TLS", &error.to_string());
        let mut roots = RootCertStore::empty();
        let authority =
            CertificateDer::from_pem_slice(authority.as_bytes()).map_err(|error| failed(&error))?;
        roots.add(authority).map_err(|error| failed(&error))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder =
            builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(|error| failed(&error))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        config.resumption =
            if resume { Resumption::store(Arc::new(Tickets::default())) } else { Resumption::disabled() };
        let name = ServerName::try_from(CERTIFIED_NAME).map_err(|error| failed(&error))?;
        Ok(Self { config: Arc::new(config), name })
    }

    /// A session for a connection that is being made.
    pub(super) fn session(&self) -> Result<Box<Session>, Errno> {
        let tls = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let tls = tls.map_err(|_| Errno::EPROTO)?;
        Ok(Box::new(Session { tls, began: None, held: 0, opened: 0, wire: 0, drained: false, fault: None }))
    }
}

/// What is agreed on with the server of one connection.
pub(super) struct Session {
    tls: ClientConnection,
    /// When its first message went out: the connection was established then.
    began: Option<u64>,
    /// Bytes that were sealed, and did not all go out yet.
    held: usize,
    /// Bytes that were opened, and not taken yet.
    opened: usize,
    /// How many bytes came from the socket for what was received last.
    wire: usize,
    /// The kernel had no more.
    drained: bool,
    /// What went wrong with TLS itself.
    fault: Option<String>,
}

impl Session {
    /// When the connection was established and the handshake began, and whether it resumed an earlier session.
    pub(super) fn handshake(&self) -> Option<(u64, bool)> {
        Some((self.began?, self.tls.handshake_kind() == Some(HandshakeKind::Resumed)))
    }

    /// What went wrong with TLS itself, in words.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Whether the kernel had no more than was received last.
    pub(super) fn is_drained(&self) -> bool {
        self.drained
    }

    /// How many bytes the socket gave for what was received last.
    pub(super) fn wire(&self) -> usize {
        self.wire
    }

    /// Seals and sends; says how many bytes were taken. Until the handshake is over, and while the kernel takes nothing more, that is EAGAIN.
    pub(super) fn send(&mut self, fd: &OwnedFd, pieces: Pieces<'_>) -> Result<usize, Errno> {
        while self.tls.is_handshaking() {
            self.flush(fd)?;
            self.began.get_or_insert_with(clock::now);
            if self.tls.is_handshaking() && self.fill(fd, &mut [])?.came == 0 {
                return Err(self.broken("the server has closed the connection during the TLS handshake"));
            }
        }
        if self.held == 0 {
            let mut writer = self.tls.writer();
            for piece in pieces.0 {
                let taken = writer.write(piece).map_err(|_| Errno::EPROTO)?;
                self.held += taken;
                if taken < piece.len() {
                    break;
                }
            }
        }
        self.flush(fd)?;
        Ok(std::mem::take(&mut self.held))
    }

    /// Receives and opens what is there; 0 at the end of what the server sends.
    pub(super) fn receive(&mut self, fd: &OwnedFd, into: &mut [u8]) -> Result<usize, Errno> {
        self.wire = 0;
        loop {
            if self.opened > 0 {
                let taken = self.tls.reader().read(into).map_err(|_| Errno::EPROTO)?;
                self.opened -= taken.min(self.opened);
                self.drained &= self.opened == 0;
                return Ok(taken);
            }
            if self.wire > 0 && self.drained {
                return Err(Errno::EAGAIN);
            }
            let filled = self.fill(fd, into)?;
            if filled.opened > 0 || filled.came == 0 {
                return Ok(filled.opened);
            }
        }
    }

    /// Says that nothing more will be sent (RFC 8446, section 6.1). It fits into a send buffer that is empty; where it does not go out, the
    /// connection has ended anyway.
    pub(super) fn farewell(&mut self, fd: &OwnedFd) {
        self.tls.send_close_notify();
        self.flush(fd).ok();
    }

    /// Takes what the socket has, and opens it into where there is room for it.
    fn fill(&mut self, fd: &OwnedFd, into: &mut [u8]) -> Result<Filled, Errno> {
        INBOX.with_borrow_mut(|inbox| {
            let length = loop {
                match recv(fd.as_raw_fd(), inbox, MsgFlags::empty()) {
                    Err(Errno::EINTR) => {}
                    done => break done?,
                }
            };
            self.wire += length;
            self.drained = length < inbox.len();
            let mut sealed = &inbox[..length];
            let mut filled = Filled { came: length, opened: 0 };
            while !sealed.is_empty() {
                self.tls.read_tls(&mut sealed).map_err(|_| Errno::EPROTO)?;
                let state = match self.tls.process_new_packets() {
                    Ok(state) => state,
                    Err(error) => {
                        // Tells the server why.
                        self.flush(fd).ok();
                        return Err(self.broken(&error.to_string()));
                    }
                };
                self.opened = state.plaintext_bytes_to_read();
                while self.opened > 0 && filled.opened < into.len() {
                    let taken =
                        self.tls.reader().read(&mut into[filled.opened..]).map_err(|_| Errno::EPROTO)?;
                    self.opened -= taken;
                    filled.opened += taken;
                }
                if state.peer_has_closed() {
                    filled.came = if self.opened == 0 { 0 } else { length };
                    break;
                }
            }
            self.drained &= self.opened == 0;
            Ok(filled)
        })
    }

    /// Sends what was sealed.
    fn flush(&mut self, fd: &OwnedFd) -> Result<(), Errno> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut Wire(fd)) {
                Ok(_) => {}
                Err(error) => return Err(error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)),
            }
        }
        Ok(())
    }

    fn broken(&mut self, why: &str) -> Errno {
        self.fault = Some(format!("TLS: {why}"));
        Errno::EPROTO
    }
}

/// What came from a socket.
struct Filled {
    /// How many bytes; 0 at the end of what the server sends.
    came: usize,
    /// How many bytes were opened and taken.
    opened: usize,
}

/// A socket that is written to.
struct Wire<'a>(&'a OwnedFd);

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        loop {
            // Most requests are one record, and handing over one piece costs the kernel less.
            let sent = match pieces {
                [one] => send(self.0.as_raw_fd(), one, MsgFlags::MSG_NOSIGNAL),
                _ => sendmsg::<()>(self.0.as_raw_fd(), pieces, &[], MsgFlags::MSG_NOSIGNAL, None),
            };
            match sent {
                Err(Errno::EINTR) => {}
                done => return done.map_err(io::Error::from),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The tickets of servers, each for one connection (RFC 8446, appendix C.4). All targets of a load are one service, so any ticket will do.
#[derive(Debug, Default)]
struct Tickets(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    tickets: Vec<Tls13ClientSessionValue>,
    group: Option<NamedGroup>,
}

impl Tickets {
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut kept = self.kept();
        if kept.tickets.len() < TICKETS {
            kept.tickets.push(ticket);
        }
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tickets.pop()
    }
}
