//! The certificate of a trial's services, and the files that programs want it in.

use serde::{Deserialize, Serialize};

/// The host name in a [`Certificate`]. Addresses of hosts differ from trial to trial, and a connection may pass through
/// others.
pub const CERTIFIED_NAME: &str = "service.plimsoll.test";

/// A certificate that was made for a trial, and what belongs to it, in PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The certificate of the authority that signed it. Its key is not kept.
    pub authority: String,
    /// The certificate itself.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A file with a certificate or what belongs to it, as programs want them, in the folder of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateFile {
    /// The certificate.
    Certificate,
    /// Its private key.
    Key,
    /// Both in one file.
    Pair,
    /// The certificate of the authority that signed it.
    Authority,
}

impl CertificateFile {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Certificate, Self::Key, Self::Pair, Self::Authority];

    /// The file that `{{tls.NAME}}` names.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|file| file.name().strip_suffix(".pem") == Some(name))
    }

    /// The name of the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certificate => "certificate.pem",
            Self::Key => "key.pem",
            Self::Pair => "pair.pem",
            Self::Authority => "authority.pem",
        }
    }

    /// Whether only the owner may read it.
    pub fn is_secret(self) -> bool {
        matches!(self, Self::Key | Self::Pair)
    }

    /// Its content.
    pub fn text(self, of: &Certificate) -> String {
        match self {
            Self::Certificate => of.certificate.clone(),
            Self::Key => of.key.clone(),
            Self::Pair => format!("{}{}", of.certificate, of.key),
            Self::Authority => of.authority.clone(),
        }
    }
}
