//! The environment of a run, and the machine's state during the run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::observation::PhaseKind;

/// The environment of a run: the machines, the programs, and the experiment itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The version of Plimsoll that measured; null where the run did not store it.
    pub plimsoll: Option<String>,
    /// The machines that the hosts were on; empty where the run did not store them.
    pub machines: Vec<Machine>,
    /// The program behind each service that is a real one, by the service's name.
    pub programs: BTreeMap<String, ProgramVersion>,
    /// The links between hosts, each with what happens to packets on it, in the experiment's words.
    pub links: Vec<LinkReport>,
    /// The kernel settings that the experiment makes, by host.
    pub sysctls: BTreeMap<String, BTreeMap<String, String>>,
    /// The experiment file, as it was read.
    pub experiment: String,
    /// Settings from outside: options and words of the command line.
    pub settings: Vec<String>,
}

/// A machine, and the hosts that were on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The hosts.
    pub hosts: Vec<String>,
    /// The kernel's release (`uname -r`).
    pub kernel: Option<String>,
    /// The kernel's compiler and linker, in its own words; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// The kernel's command line; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    /// How the kernel was built; absent where neither it nor the distribution says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_config: Option<KernelConfig>,
    /// The operating system's name and version (os-release(5), PRETTY_NAME).
    pub os: Option<String>,
    /// The processor's name.
    pub cpu: Option<String>,
    /// Logical processors.
    pub cpus: u64,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Swap space, in bytes.
    pub swap_bytes: u64,
    /// The hypervisor's own name, or the system's maker and name; null on metal or where neither is known.
    pub virtualization: Option<String>,
    /// Settings of the kernel that are not what it sets by itself, by name.
    pub changed_sysctls: BTreeMap<String, String>,
    /// All facts, as `plimsoll inventory` prints them: schema `plimsoll.inventory/1`.
    pub inventory: serde_json::Value,
}

/// The configuration that a kernel was built with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelConfig {
    /// Source file: `/proc/config.gz`, which is the running kernel's own, or a distribution's for this release.
    pub source: String,
    /// The SHA-256 of its text, unpacked, in hexadecimal digits.
    pub sha256: String,
    /// Of some fifty options that change what a program measures (preemption, the timer's rate, mitigations, what finds mistakes in the kernel) those
    /// that are on, without `CONFIG_`.
    pub options: BTreeMap<String, String>,
    /// Of the same options those that are not what Kconfig sets by itself on x86-64; `n` for what is off.
    pub changed: BTreeMap<String, String>,
}

/// A program that a service was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramVersion {
    /// The program's file.
    pub path: String,
    /// Its version in its own words; null where it prints none.
    pub version: Option<String>,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkReport {
    /// The two hosts.
    pub between: [String; 2],
    /// Effects on packets from the first to the second, such as `rate 100Mbit, delay 10ms`; empty where there are none.
    pub there: String,
    /// Settings of the direction back.
    pub back: String,
}

/// A machine over one phase, as vmstat(8) shows it: means of its samples, and rates of its counters from the first to the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VmstatReport {
    /// The phase.
    pub phase: String,
    /// Purpose of the phase.
    pub kind: PhaseKind,
    /// The cycle, from 1; 0 outside of any.
    pub cycle: u32,
    /// The host that saw it; hosts that are namespaces share the machine's figures, which one of them samples.
    pub host: String,
    /// Seconds between its samples, without a reboot.
    pub seconds: f64,
    /// Tasks that ran or waited for a CPU (`r`).
    pub r: f64,
    /// Tasks that waited for a disk (`b`).
    pub b: f64,
    /// Memory that was free, in bytes (`free`).
    pub free_bytes: f64,
    /// Interrupts per second (`in`).
    pub interrupts_per_second: f64,
    /// Context switches per second (`cs`).
    pub context_switches_per_second: f64,
    /// The share of CPU time in programs, niced ones with them (`us`), 0 to 1.
    pub user: f64,
    /// In the kernel, interrupts with it (`sy`).
    pub system: f64,
    /// In nothing (`id`).
    pub idle: f64,
    /// In nothing, waiting for a disk (`wa`).
    pub iowait: f64,
    /// Taken by the hypervisor for others (`st`).
    pub steal: f64,
}
