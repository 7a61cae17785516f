//! The machine: [`Inventory::read`]; and its comparison with a promise: [`compare`]. Facts from saved outputs of other programs about
//! a machine: [`saved_outputs`].
//!
//! Everything comes from `/proc`, `/sys`, `/etc/os-release` and the kernel's log, and works without root; what could not be seen
//! stands in [`Inventory::absent`] with the reason. Fields that a machine does not have are left out. Sizes are bytes,
//! frequencies are MHz, rates of links are Mbit/s.

mod cgroup;
mod compare;
mod cpus;
mod disks;
mod dmi;
mod ethtool;
mod firmware;
mod kernel;
mod kernel_config;
mod kernel_log;
mod memory;
mod networks;
mod pci;
mod pcie;
pub mod saved_outputs;
mod sysctls;
mod tree;
mod virtualization;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cgroup::directory as cgroup_directory;
pub use compare::{Deviation, Expectation, ExpectationError, compare, compare_saved};
pub use cpus::Cpus;
pub use cpus::parse_list as parse_cpu_list;
pub use disks::{Disk, DiskLink};
pub use dmi::Dimm;
pub use ethtool::offloads;
pub use firmware::Board;
pub use kernel::{Clock, Kernel};
pub use kernel_log::{KernelProblem, LogLine};
pub use memory::{HugePages, Memory, NumaNode};
pub use networks::NetworkCard;
pub use pci::PciDevice;
pub use pcie::PcieLink;
pub use sysctls::ChangedSysctl;
pub use virtualization::{CgroupLimits, Virtualization};

/// The version of the inventory's JSON. Rises when a field changes its meaning or goes away, not when one is added.
pub const SCHEMA: &str = "plimsoll.inventory/1";

/// A source that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Absence {
    /// The file, or what else was asked.
    pub file: String,
    /// Why, in words.
    pub why: String,
}

/// Lines of the kernel's log that speak of trouble and are newer than `after_us`, oldest first; empty if it may not be read.
pub fn kernel_log(root: &Path, after_us: Option<u64>) -> Vec<LogLine> {
    kernel_log::read(&mut tree::Tree::new(root), after_us)
}

/// Facts about a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inventory {
    /// [`SCHEMA`].
    pub schema: String,
    /// The operating system's name and version (os-release(5), PRETTY_NAME).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// The kernel.
    pub kernel: Kernel,
    /// The processors.
    pub cpus: Cpus,
    /// The memory.
    pub memory: Memory,
    /// The board and its firmware.
    #[serde(default)]
    pub board: Board,
    /// PCI devices by slot (`0000:03:00.0`).
    #[serde(default)]
    pub pci: BTreeMap<String, PciDevice>,
    /// Block devices by name; those of no size and partitions are left out.
    pub disks: BTreeMap<String, Disk>,
    /// Network interfaces by name, in the network namespace of the process.
    pub networks: BTreeMap<String, NetworkCard>,
    /// Clock source of the kernel.
    pub clock: Clock,
    /// Settings under `/proc/sys` that are not what the kernel sets by itself, by name.
    pub sysctls: BTreeMap<String, ChangedSysctl>,
    /// Lines of the kernel's log that speak of trouble, oldest first.
    pub kernel_log: Vec<LogLine>,
    /// Whether it is a machine of metal.
    pub virtualization: Virtualization,
    /// Limits of the control group that this process is in.
    pub cgroup: CgroupLimits,
    /// Absent facts, and why.
    pub absent: Vec<Absence>,
}

impl Inventory {
    /// Reads the machine's facts below `root`: `/` for the running one. With any other root, facts from other sources than files are absent.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        let mut tree = tree::Tree::new(root);
        let os = tree.text("etc/os-release").and_then(|text| {
            let pretty = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(pretty.trim_matches(['"', '\'']).to_owned())
        });
        Self {
            schema: SCHEMA.to_owned(),
            os,
            kernel: kernel::read(&mut tree),
            cpus: cpus::read(&mut tree),
            memory: memory::read(&mut tree),
            board: firmware::read(&tree),
            pci: pci::read(&tree),
            disks: disks::read(&tree),
            networks: networks::read(&mut tree),
            clock: kernel::clock(&mut tree),
            sysctls: sysctls::read(&tree),
            kernel_log: kernel_log::read(&mut tree, None),
            virtualization: virtualization::read(&mut tree),
            cgroup: virtualization::cgroup(&mut tree),
            absent: tree.into_absences(),
        }
    }
}
