//! TLS 1.3 between a load and the kernel: handshakes, sealing and opening of records.
//!
//! A session stands between what a protocol says and the socket of its connection, and takes the same calls as the socket does. The
//! certificate of the server is checked against the authority that the run has made for itself. A server that ran before has a certificate of
//! its own. The session then checks that the server has its key, and not who signed the certificate.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use plimsoll_model::frame::{CERTIFIED_NAME, Failure, Trust};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientConnectionData, ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
    UnbufferedClientConnection,
};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::unbuffered::{AppDataRecord, ConnectionState, EncodeError, EncodeTlsData};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, HandshakeKind, NamedGroup, PeerIncompatible, RootCertStore,
    SignatureScheme,
};

use super::protocol::Pieces;
use crate::clock;
use crate::failure::other;
use crate::socket_io;

/// How much is taken from a socket at a time, in bytes. The opened bytes fit into the inbox of a generator, with the rest of a record.
const SEALED: usize = 64 << 10;
/// The most of a record that is not sealed, and what sealing adds at most, in bytes (RFC 8446, section 5.2).
const RECORD: usize = 16 << 10;
const ADDED: usize = 5 + 1 + 255;
/// The most tickets that are kept for later connections.
const TICKETS: usize = 4096;

thread_local! {
    /// Received bytes that are still sealed. The buffer is the thread's, and not a connection's: buffers of hundreds of connections would not stay
    /// in a cache.
    static INBOX: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Sealed bytes that go out next.
    static OUTBOX: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Common state of all sessions of a generator.
pub(super) struct Secure {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Secure {
    /// Speaks `protocol` (RFC 7301). Later connections resume what earlier ones agreed on where `resume` says so.
    pub(super) fn new(trust: &Trust, protocol: &[u8], resume: bool) -> Result<Self, Failure> {
        let failed = |error: &dyn std::error::Error| other("prepare TLS", &error.to_string());
        let provider = ring::default_provider();
        let algorithms = provider.signature_verification_algorithms;
        let builder = ClientConfig::builder_with_provider(Arc::new(provider));
        let builder =
            builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(|error| failed(&error))?;
        let builder = match trust {
            Trust::Authority(authority) => {
                let mut roots = RootCertStore::empty();
                let authority =
                    CertificateDer::from_pem_slice(authority.as_bytes()).map_err(|error| failed(&error))?;
                roots.add(authority).map_err(|error| failed(&error))?;
                builder.with_root_certificates(roots)
            }
            Trust::AnySigner => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(AnySigner(algorithms)))
            }
        };
        let name = ServerName::try_from(CERTIFIED_NAME).map_err(|error| failed(&error))?;
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        // A stranger's server does not know the name of the run's certificate.
        config.enable_sni = matches!(trust, Trust::Authority(_));
        config.resumption =
            if resume { Resumption::store(Arc::new(Tickets::default())) } else { Resumption::disabled() };
        Ok(Self { config: Arc::new(config), name })
    }

    /// A session for a connection that is being made.
    pub(super) fn session(&self) -> Result<Box<Session>, Errno> {
        let tls = UnbufferedClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let tls = tls.map_err(|_| Errno::EPROTO)?;
        Ok(Box::new(Session {
            tls,
            began: None,
            part: Vec::new(),
            out: Vec::new(),
            held: 0,
            opened: Vec::new(),
            wire: 0,
            drained: false,
            closed: false,
            fault: None,
        }))
    }
}

/// Takes the certificate of any server that has its key.
#[derive(Debug)]
struct AnySigner(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnySigner {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::ServerDoesNotSupportTls12Or13.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// TLS session with the server of one connection.
pub(super) struct Session {
    tls: UnbufferedClientConnection,
    /// When its first message went out: the connection was established then.
    began: Option<u64>,
    /// Received bytes of an incomplete record.
    part: Vec<u8>,
    /// Sealed bytes that did not go out yet.
    out: Vec<u8>,
    /// How many bytes were sealed in it.
    held: usize,
    /// Opened bytes that were not taken yet.
    opened: Vec<u8>,
    /// Bytes that the socket gave for the last call to receive.
    wire: usize,
    /// The kernel had no more.
    drained: bool,
    /// The server has said that nothing more will come.
    closed: bool,
    /// Error of TLS itself.
    fault: Option<String>,
}

impl Session {
    /// When the connection was established and the handshake began, and whether it resumed an earlier session.
    pub(super) fn handshake(&self) -> Option<(u64, bool)> {
        Some((self.began?, self.tls.handshake_kind() == Some(HandshakeKind::Resumed)))
    }

    /// Error of TLS itself, in words.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Whether the kernel had no more than was received last.
    pub(super) fn is_drained(&self) -> bool {
        self.drained
    }

    /// Bytes that the socket gave for the last call to receive.
    pub(super) fn wire(&self) -> usize {
        self.wire
    }

    /// Seals and sends; says how many bytes were taken. Until the handshake is over, and while the kernel takes nothing more, that is EAGAIN.
    pub(super) fn send(&mut self, fd: &OwnedFd, pieces: Pieces<'_>) -> Result<usize, Errno> {
        if self.began.is_none() {
            // The client's first message.
            self.advance(&mut [], &mut [])?;
        }
        while self.tls.is_handshaking() {
            self.flush(fd)?;
            self.began.get_or_insert_with(clock::now);
            if self.fill(fd, &mut [])?.came == 0 {
                return Err(self.broken("the server has closed the connection during the TLS handshake"));
            }
        }
        if self.held == 0 {
            OUTBOX.with_borrow_mut(|sealed| {
                let length = match pieces.single() {
                    Some(bytes) => self.seal(bytes, sealed)?,
                    None => self.seal(&pieces.0.concat(), sealed)?,
                };
                let sealed = &sealed[..length];
                let sent = if self.out.is_empty() {
                    socket_io::send(fd, sealed)
                        .or_else(|error| if error == Errno::EAGAIN { Ok(0) } else { Err(error) })?
                } else {
                    0
                };
                self.out.extend_from_slice(&sealed[sent..]);
                self.held = pieces.len();
                Ok::<_, Errno>(())
            })?;
        }
        self.flush(fd)?;
        Ok(std::mem::take(&mut self.held))
    }

    /// Seals bytes; says how long they are then. What has to go out before them stands in `out`.
    fn seal(&mut self, bytes: &[u8], into: &mut Vec<u8>) -> Result<usize, Errno> {
        let room = bytes.len() + (bytes.len() / RECORD + 1) * ADDED;
        if into.len() < room {
            into.resize(room, 0);
        }
        loop {
            let why = match self.tls.process_tls_records(&mut []).state {
                Ok(ConnectionState::WriteTraffic(mut ready)) => match ready.encrypt(bytes, into) {
                    Ok(length) => return Ok(length),
                    Err(error) => error.to_string(),
                },
                Ok(ConnectionState::EncodeTlsData(mut record)) => match encode(&mut record, &mut self.out) {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Ok(ConnectionState::TransmitTlsData(said)) => {
                    said.done();
                    continue;
                }
                Ok(other) => format!("nothing can be sent: {other:?}"),
                Err(error) => error.to_string(),
            };
            return Err(self.broken(&why));
        }
    }

    /// Receives and opens the available records; 0 at the end of the server's stream.
    pub(super) fn receive(&mut self, fd: &OwnedFd, into: &mut [u8]) -> Result<usize, Errno> {
        self.wire = 0;
        loop {
            if !self.opened.is_empty() {
                let taken = self.opened.len().min(into.len());
                into[..taken].copy_from_slice(&self.opened[..taken]);
                self.opened.drain(..taken);
                self.drained &= self.opened.is_empty();
                return Ok(taken);
            }
            if self.closed {
                return Ok(0);
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
        // After a fault it remembers places in what came and is gone, and its alert has said all.
        if self.fault.is_none()
            && let Ok(ConnectionState::WriteTraffic(mut ready)) = self.tls.process_tls_records(&mut []).state
        {
            let mut alert = [0; ADDED];
            if let Ok(length) = ready.queue_close_notify(&mut alert) {
                self.out.extend_from_slice(&alert[..length]);
            }
        }
        self.flush(fd).ok();
    }

    /// Takes bytes from the socket, and opens them as far as there is room; the rest is kept.
    fn fill(&mut self, fd: &OwnedFd, into: &mut [u8]) -> Result<Filled, Errno> {
        INBOX.with_borrow_mut(|inbox| {
            let before = self.part.len();
            if inbox.len() < before + SEALED {
                inbox.resize(before + SEALED, 0);
            }
            inbox[..before].copy_from_slice(&self.part);
            let room = &mut inbox[before..before + SEALED];
            let came = socket_io::receive(fd, room)?;
            self.part.clear();
            self.wire += came;
            self.drained = came < SEALED;
            let all = &mut inbox[..before + came];
            let (used, opened) = match self.advance(all, into) {
                Ok(done) => done,
                Err(error) => {
                    // Sends the alert, so that the server knows why.
                    self.flush(fd).ok();
                    return Err(error);
                }
            };
            self.part.extend_from_slice(&all[used..]);
            self.drained &= self.opened.is_empty();
            let over = self.closed && opened == 0 && self.opened.is_empty();
            Ok(Filled { came: if over { 0 } else { came }, opened })
        })
    }

    /// Decrypts received records. Returns how many bytes they had, and how many bytes came of them. Replies to the
    /// records are kept.
    fn advance(&mut self, records: &mut [u8], into: &mut [u8]) -> Result<(usize, usize), Errno> {
        let (mut used, mut opened) = (0, 0);
        loop {
            let status = self.tls.process_tls_records(&mut records[used..]);
            let mut discard = status.discard;
            let mut over = false;
            match status.state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        // `broken` would borrow all of the session.
                        let AppDataRecord { payload, discard: read, .. } = record.map_err(|error| {
                            self.fault = Some(format!("TLS: {error}"));
                            Errno::EPROTO
                        })?;
                        discard += read;
                        let room = if self.opened.is_empty() { into.len() - opened } else { 0 };
                        let (taken, kept) = payload.split_at(payload.len().min(room));
                        into[opened..opened + taken.len()].copy_from_slice(taken);
                        opened += taken.len();
                        self.opened.extend_from_slice(kept);
                    }
                    // After the last record nothing more can come, and its reply is sent before the next record is sealed.
                    over = used + discard == records.len();
                }
                Ok(ConnectionState::EncodeTlsData(mut record)) => {
                    encode(&mut record, &mut self.out).map_err(|error| self.broken(&error))?;
                }
                // Encoded records go out with the next ones.
                Ok(ConnectionState::TransmitTlsData(said)) => said.done(),
                Ok(ConnectionState::PeerClosed) => self.closed = true,
                // Nothing more can be done with what has come.
                Ok(_) => over = true,
                Err(error) => {
                    let error = self.broken(&error.to_string());
                    self.encode_alert();
                    return Err(error);
                }
            }
            used += discard;
            if over {
                return Ok((used, opened));
            }
        }
    }

    /// Encodes the alert that reports an error, and nothing after it. The session remembers places in what came, and would repeat the alert.
    fn encode_alert(&mut self) {
        while self.tls.wants_write()
            && let Ok(ConnectionState::EncodeTlsData(mut record)) =
                self.tls.process_tls_records(&mut []).state
            && encode(&mut record, &mut self.out).is_ok()
        {}
    }

    /// Sends what was sealed.
    fn flush(&mut self, fd: &OwnedFd) -> Result<(), Errno> {
        while !self.out.is_empty() {
            let sent = socket_io::send(fd, &self.out)?;
            self.out.drain(..sent);
        }
        Ok(())
    }

    fn broken(&mut self, why: &str) -> Errno {
        self.fault = Some(format!("TLS: {why}"));
        Errno::EPROTO
    }
}

/// Bytes from a socket.
struct Filled {
    /// How many bytes; 0 at the end of the server's stream.
    came: usize,
    /// How many bytes were opened and taken.
    opened: usize,
}

/// Puts a record of the handshake behind what is to go out.
fn encode(record: &mut EncodeTlsData<'_, ClientConnectionData>, into: &mut Vec<u8>) -> Result<(), String> {
    let before = into.len();
    loop {
        match record.encode(&mut into[before..]) {
            Ok(length) => {
                into.truncate(before + length);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(needed)) => into.resize(before + needed.required_size, 0),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// The tickets of servers, each for one connection (RFC 8446, appendix C.4). All targets of a load are one service, so any ticket will do.
#[derive(Debug, Default)]
struct Tickets(Mutex<TicketStore>);

#[derive(Debug, Default)]
struct TicketStore {
    tickets: Vec<Tls13ClientSessionValue>,
    group: Option<NamedGroup>,
}

impl Tickets {
    fn kept(&self) -> std::sync::MutexGuard<'_, TicketStore> {
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
