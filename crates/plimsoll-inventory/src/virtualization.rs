//! Whether the machine is one of metal, and what limits it within another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::Tree;
use crate::cgroup;

/// The layer below the kernel.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Virtualization {
    /// Whether the processor says that a hypervisor runs it; absent where the architecture does not report it.
    pub hypervisor: Option<bool>,
    /// Name of the hypervisor for its guests: `KVMKVMKVM`.
    pub signature: Option<String>,
    /// The system's maker, as the firmware has it.
    pub vendor: Option<String>,
    /// The system's name, as the firmware has it.
    pub product: Option<String>,
}

/// Limits of the control group that this process is in; absent is unlimited. Limits of the groups above are not seen.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupLimits {
    /// CPU time per time: 1.5 is one and a half processors.
    pub cpus: Option<f64>,
    /// Memory, in bytes.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub tasks: Option<u64>,
}

pub(super) fn read(tree: &mut Tree<'_>) -> Virtualization {
    let info = tree.text("proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    let hypervisor = flags.map(|(_, flags)| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    let signature = if tree.is_live() && hypervisor == Some(true) { signature() } else { None };
    let dmi = "sys/class/dmi/id";
    let vendor = tree.expected(&format!("{dmi}/sys_vendor"), "the firmware has no DMI tables");
    Virtualization {
        hypervisor,
        signature: signature.or_else(|| tree.text("sys/hypervisor/type")),
        vendor,
        product: tree.text(format!("{dmi}/product_name")),
    }
}

/// The twelve letters of CPUID leaf 0x4000_0000, which hypervisors keep for themselves.
#[cfg(target_arch = "x86_64")]
fn signature() -> Option<String> {
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let letters = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let text: String = letters.into_iter().filter(u8::is_ascii_graphic).map(char::from).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Option<String> {
    None
}

pub(super) fn cgroup(tree: &mut Tree<'_>) -> CgroupLimits {
    let root = tree.root();
    let text = |controller: &str, file: &str| {
        let directory = cgroup::directory(root, controller)?;
        tree.text(directory.strip_prefix(root).ok()?.join(file))
    };
    let limits = CgroupLimits {
        cpus: text("cpu", "cpu.max")
            .and_then(|text| cpu_max(&text))
            .or_else(|| quota(&text("cpu", "cpu.cfs_quota_us")?, &text("cpu", "cpu.cfs_period_us")?)),
        memory: text("memory", "memory.max")
            .or_else(|| text("memory", "memory.limit_in_bytes"))
            .and_then(|text| text.parse().ok())
            .filter(|&bytes| bytes < UNLIMITED),
        tasks: text("pids", "pids.max").and_then(|text| text.parse().ok()),
    };
    if cgroup::directory(root, "memory").is_none() {
        tree.miss("control group", "this process's own is not to be seen below /sys/fs/cgroup".to_owned());
    }
    limits
}

/// Version 1 writes "unlimited" as the largest multiple of the page size in 63 bits.
const UNLIMITED: u64 = 1 << 62;

/// `150000 100000`; `max 100000` where there is no limit.
fn cpu_max(text: &str) -> Option<f64> {
    let (quota_us, period_us) = text.split_once(' ')?;
    quota(quota_us, period_us)
}

fn quota(quota_us: &str, period_us: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota_us.trim().parse().ok()?, period_us.trim().parse().ok()?);
    // Version 1 writes -1 for no limit.
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}
