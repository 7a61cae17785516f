//! Memory: how much, where, of which kind, and how short it has been.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cpus::parse_list;
use super::dmi::{self, Dimm};
use super::tree::Tree;

/// The memory of a machine.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Memory for the kernel's use, in bytes: somewhat less than is built in.
    pub size: u64,
    /// Swap space, in bytes.
    pub swap: u64,
    /// NUMA nodes by number.
    pub numa: BTreeMap<String, NumaNode>,
    /// Modules that are built in; absent where the firmware's tables can't be read.
    pub dimms: Option<Vec<Dimm>>,
    /// Huge pages.
    pub huge_pages: HugePages,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// Share of the last five minutes (0 to 1) in which some task waited for memory.
    pub pressure: Option<f64>,
}

/// One NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    /// Its memory, in bytes.
    pub size: u64,
    /// How many processors it has.
    pub cpus: u64,
}

/// Huge pages of the default size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HugePages {
    /// How many are set aside.
    pub count: u64,
    /// Their size, in bytes.
    pub size: u64,
}

const NODES: &str = "sys/devices/system/node";

pub(super) fn read(tree: &mut Tree<'_>) -> Memory {
    let info = tree.expected("proc/meminfo", "sizes are not known").unwrap_or_default();
    let pressure =
        tree.expected("proc/pressure/memory", "the kernel keeps no account of pressure (CONFIG_PSI, psi=1)");
    Memory {
        size: amount(&info, "MemTotal:"),
        swap: amount(&info, "SwapTotal:"),
        numa: nodes(tree),
        dimms: dmi::memory_devices(tree),
        huge_pages: HugePages {
            count: amount(&info, "HugePages_Total:"),
            size: amount(&info, "Hugepagesize:"),
        },
        transparent_huge_pages: tree
            .text("sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|text| chosen(&text)),
        pressure: pressure.and_then(|text| five_minutes(&text)),
    }
}

/// The number after a key, times 1024 where it is in kB; 0 where there is none.
fn amount(info: &str, key: &str) -> u64 {
    let Some((_, rest)) = info.split_once(key) else { return 0 };
    let mut words = rest.lines().next().unwrap_or_default().split_ascii_whitespace();
    let number: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    if words.next() == Some("kB") { number.saturating_mul(1024) } else { number }
}

fn nodes(tree: &Tree<'_>) -> BTreeMap<String, NumaNode> {
    let names = tree.names(NODES).into_iter();
    let nodes = names.filter_map(|name| {
        let number = name.strip_prefix("node").filter(|n| n.parse::<u32>().is_ok())?.to_owned();
        let info = tree.text(format!("{NODES}/{name}/meminfo")).unwrap_or_default();
        let cpus = tree.text(format!("{NODES}/{name}/cpulist")).map_or(0, |list| parse_list(&list).len());
        Some((number, NumaNode { size: amount(&info, "MemTotal:"), cpus: cpus as u64 }))
    });
    nodes.collect()
}

/// The choice in brackets: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn five_minutes(pressure: &str) -> Option<f64> {
    let some = pressure.lines().find(|line| line.starts_with("some"))?;
    let percent: f64 =
        some.split_ascii_whitespace().find_map(|word| word.strip_prefix("avg300="))?.parse().ok()?;
    Some(percent / 100.0)
}
