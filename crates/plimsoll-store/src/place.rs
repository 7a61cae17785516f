//! Where runs are kept: in a file, or on a server that many machines share.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::database::address::{Address, is_server};

/// The folder for this machine's files of runs that are on a server: their pages, and their packets.
const OF_SERVERS: &str = "team";

/// Where runs are kept.
#[derive(Clone, Debug)]
pub enum Location {
    /// In a file of this machine.
    File(PathBuf),
    /// On a server of PostgreSQL's.
    Server {
        /// Which.
        address: Box<Address>,
        /// The folder for this machine's files of them.
        folder: PathBuf,
    },
}

impl Location {
    /// The place of this name: `postgres://` begins the URL of a server, everything else is a file. `file` is the file that this machine's
    /// own runs are in: what is kept here of those on a server stands in a folder beside it.
    ///
    /// # Errors When the name is not a valid URL. The error leaves the URL out, as it may contain a password.
    pub fn named(name: &Path, file: &Path) -> Result<Self, StoreError> {
        let Some(url) = name.to_str().filter(|name| is_server(name)) else {
            return Ok(Self::File(name.to_owned()));
        };
        let address = Address::read(url).map_err(|why| StoreError::Address { why })?;
        Ok(Self::Server { address: Box::new(address), folder: file.with_file_name(OF_SERVERS) })
    }

    /// Whether this name is that of a server.
    pub fn is_of_server(name: &Path) -> bool {
        name.to_str().is_some_and(is_server)
    }

    /// The folder of files beside the runs: pages, and captured packets.
    pub fn folder(&self) -> &Path {
        match self {
            Self::File(path) => path.parent().unwrap_or(Path::new("")),
            Self::Server { folder, .. } => folder,
        }
    }
}

/// As `--store` takes it, but without a password.
impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(out),
            Self::Server { address, .. } => address.fmt(out),
        }
    }
}
