//! Arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::StoreArgs;

/// Arguments of `serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Where to listen: an address and a port; port 0 takes a free one. Where it is not of this machine alone, every client needs a token.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7546", env = "PLIMSOLL_LISTEN")]
    pub listen: SocketAddr,
    /// A name by which browsers ask for this server, beside addresses and localhost; others are refused. May be given several times.
    #[arg(long, value_name = "HOST")]
    pub name: Vec<String>,
    /// Ask for the token in this file [default: none on this machine alone, else a random one].
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// What `watch --keep` keeps of the machine [default: weeks.sqlite beside the file of runs].
    #[arg(long, value_name = "FILE", env = "PLIMSOLL_WEEKS")]
    pub weeks: Option<PathBuf>,
    /// Show this recording (of `record` or `watch --record`) at /recording; given twice, what changed from the first to the second.
    #[arg(long, value_name = "FILE")]
    pub recording: Vec<PathBuf>,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}
