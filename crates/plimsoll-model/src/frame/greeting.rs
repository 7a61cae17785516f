//! The greeting of an agent on an existing machine: its answer to the controller's.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// An agent's first report about itself and its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// [`PROTOCOL`](super::PROTOCOL) of the agent.
    pub protocol: u32,
    /// The version of Plimsoll.
    pub version: String,
    /// The machine's own name for itself.
    pub machine: String,
    /// The number of the user that the agent runs as; 0 is root.
    pub user: u32,
    /// Identifies the agent's network: the boot id of its kernel, and the inode of its network namespace.
    pub network: String,
    /// The machine's addresses, except loopback ones and those valid on one link alone.
    pub addresses: Vec<IpAddr>,
    /// The address by which it was reached, where that is known.
    pub reached_at: Option<IpAddr>,
}
