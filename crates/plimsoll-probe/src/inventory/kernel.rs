//! The kernel and its clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// The kernel that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Its release: `6.12.30-amd64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Its build: number, options, date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_line: Option<String>,
    /// Why it is tainted, as the sum of the bits in Documentation/admin-guide/tainted-kernels.rst; 0 if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted: Option<u64>,
}

/// What the kernel takes its time from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// In use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What else there is.
    pub available: Vec<String>,
}

pub(super) fn read(tree: &mut Tree<'_>) -> Kernel {
    Kernel {
        release: tree.expected("proc/sys/kernel/osrelease", "the release is not known"),
        version: tree.text("proc/sys/kernel/version"),
        command_line: tree.text("proc/cmdline"),
        tainted: tree.value("proc/sys/kernel/tainted"),
    }
}

pub(super) fn clock(tree: &mut Tree<'_>) -> Clock {
    const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";
    let source = tree.expected(&format!("{CLOCK}/current_clocksource"), "the clock source is not known");
    let available = tree.text(format!("{CLOCK}/available_clocksource")).unwrap_or_default();
    Clock { source, available: available.split_ascii_whitespace().map(str::to_owned).collect() }
}
