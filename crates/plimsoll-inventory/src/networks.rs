//! Network interfaces: how fast they are, how they are driven, and whether their bus carries their rate.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pcie::{self, PcieLink};
use super::tree::Tree;
use crate::ethtool;

/// A network interface.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkCard {
    /// `up`, `down`, `unknown` ... (RFC 2863's operational status).
    pub state: Option<String>,
    /// The rate of its link, in Mbit/s; absent where it has none, as virtual ones.
    pub speed: Option<u64>,
    /// `full` or `half`.
    pub duplex: Option<String>,
    /// The largest packet, in bytes.
    pub mtu: Option<u64>,
    /// The driver of its device; absent where it has no device.
    pub driver: Option<String>,
    /// Queues that receive.
    pub rx_queues: u64,
    /// Queues that send.
    pub tx_queues: u64,
    /// Work that the card or the kernel does in bulk, by ethtool's names: `tso`, `gso`, `gro`, `rx`, `tx`, `sg`.
    pub offloads: BTreeMap<String, bool>,
    /// The PCI Express link that its device sits on.
    pub pcie: Option<PcieLink>,
    /// Whether that link carries more than the rate of the network's link.
    pub bus_suffices: Option<bool>,
}

const NET: &str = "sys/class/net";

pub(super) fn read(tree: &mut Tree<'_>) -> BTreeMap<String, NetworkCard> {
    let offloads_of = if tree.is_live() { ethtool::Asker::new().ok() } else { None };
    if offloads_of.is_none() {
        tree.miss(
            "network offloads",
            "only the running kernel can be asked, and gave no socket to do so".to_owned(),
        );
    }
    let names = tree.names(NET).into_iter().filter(|name| name != "bonding_masters");
    names.map(|name| (name.clone(), card(tree, &name, offloads_of.as_ref()))).collect()
}

fn card(tree: &Tree<'_>, name: &str, asker: Option<&ethtool::Asker>) -> NetworkCard {
    let directory = Path::new(NET).join(name);
    let device = tree.resolved(directory.join("device"));
    let queues = tree.names(directory.join("queues"));
    let count = |prefix: &str| queues.iter().filter(|queue| queue.starts_with(prefix)).count() as u64;
    // The kernel shows an unknown speed as -1, older ones as the same in unsigned.
    let speed =
        tree.value::<u64>(directory.join("speed")).filter(|&speed| speed > 0 && speed < u64::from(u32::MAX));
    let pcie = device.iter().flat_map(|device| device.ancestors()).find_map(|above| pcie::read(tree, above));
    NetworkCard {
        state: tree.text(directory.join("operstate")),
        speed,
        duplex: tree.text(directory.join("duplex")).filter(|duplex| duplex != "unknown"),
        mtu: tree.value(directory.join("mtu")),
        driver: tree.link_name(directory.join("device/driver")),
        rx_queues: count("rx-"),
        tx_queues: count("tx-"),
        offloads: asker.map(|asker| asker.offloads(name)).unwrap_or_default(),
        bus_suffices: pcie.as_ref().zip(speed).map(|(pcie, speed)| pcie.capacity > speed as f64),
        pcie,
    }
}
