//! Protocols on the connections of a server, and its TLS: one certificate, and tickets that every process of it knows.

use std::sync::Arc;

use plimsoll_model::experiment::WebService;
use plimsoll_model::frame::{Certificate, Failure};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;

use crate::failure::other;

/// Protocols on the connections of a server, where that is not just HTTP/1.1.
pub(super) struct Layers {
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) http2: bool,
}

impl Layers {
    /// Layers by the options; `None` if they are just HTTP/1.1. It is needed for as long as the process lives.
    pub(super) fn new(
        options: &WebService,
        certificate: Option<&Certificate>,
    ) -> Result<Option<&'static Self>, Failure> {
        let tls = options.tls.then(|| config(certificate, options.http2)).transpose()?;
        let any = options.tls || options.http2;
        Ok(any.then(|| &*Box::leak(Box::new(Self { tls, http2: options.http2 }))))
    }
}

/// Bound of a session's data in its ticket, in bytes.
const LONGEST_TICKET: usize = 4096;

/// TLS 1.3 with a certificate, before any process is forked: what a ticket of one of them says, all can read.
fn config(certificate: Option<&Certificate>, http2: bool) -> Result<Arc<ServerConfig>, Failure> {
    let failed = |error: &dyn std::error::Error| other("prepare TLS", &error.to_string());
    let given = certificate.ok_or_else(|| other("prepare TLS", &"there is no certificate"))?;
    let chain = CertificateDer::pem_slice_iter(given.certificate.as_bytes()).collect::<Result<_, _>>();
    let key = PrivateKeyDer::from_pem_slice(given.key.as_bytes());
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder =
        builder.with_protocol_versions(&[&rustls::version::TLS13]).map_err(|error| failed(&error))?;
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain.map_err(|error| failed(&error))?, key.map_err(|error| failed(&error))?)
        .map_err(|error| failed(&error))?;
    config.ticketer = ring::Ticketer::new().map_err(|error| failed(&error))?;
    // A process reads no ticket that is longer than all that it has sealed itself (rustls/src/crypto/ring/ticketer.rs), and one that was just
    // forked has sealed none.
    config.ticketer.encrypt(&[0; LONGEST_TICKET]);
    config.session_storage = Arc::new(NoServerSessionStorage {});
    let versions: &[&[u8]] = if http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = versions.iter().map(|version| version.to_vec()).collect();
    Ok(Arc::new(config))
}
