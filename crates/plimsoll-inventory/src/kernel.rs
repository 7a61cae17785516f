//! The kernel and its clock.

use plimsoll_model::report::KernelConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kernel_config;
use super::tree::Tree;

/// The kernel that runs.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Its release: `6.12.30-amd64`.
    pub release: Option<String>,
    /// Its build: number, options, date.
    pub version: Option<String>,
    /// Its compiler and linker, in its own words.
    pub compiler: Option<String>,
    /// Its command line.
    pub command_line: Option<String>,
    /// Why it is tainted, as the sum of the bits in Documentation/admin-guide/tainted-kernels.rst; 0 if it is not.
    pub tainted: Option<u64>,
    /// Build configuration, from the kernel or its distribution.
    pub config: Option<KernelConfig>,
}

/// Clock source of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// In use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Other clock sources.
    pub available: Vec<String>,
}

pub(super) fn read(tree: &mut Tree<'_>) -> Kernel {
    let release = tree.expected("proc/sys/kernel/osrelease", "the release is not known");
    Kernel {
        config: kernel_config::read(tree, release.as_deref()),
        release,
        version: tree.text("proc/sys/kernel/version"),
        compiler: tree.text("proc/version").and_then(|text| compiler(&text).map(str::to_owned)),
        command_line: tree.text("proc/cmdline"),
        tainted: tree.value("proc/sys/kernel/tainted"),
    }
}

/// The second pair of brackets of proc(5)'s `version`: `Linux version 6.12 (who@where) (gcc (Debian 14) 14.2.0, GNU ld 2.44) #1 SMP`.
fn compiler(text: &str) -> Option<&str> {
    let (mut depth, mut start, mut closed) = (0_u32, 0, 0);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => {
                start = if depth == 0 { place + 1 } else { start };
                depth += 1;
            }
            b')' if depth == 1 && closed == 1 => return Some(&text[start..place]),
            b')' => {
                depth = depth.checked_sub(1)?;
                closed += u32::from(depth == 0);
            }
            _ => {}
        }
    }
    None
}

pub(super) fn clock(tree: &mut Tree<'_>) -> Clock {
    const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";
    let source = tree.expected(&format!("{CLOCK}/current_clocksource"), "the clock source is not known");
    let available = tree.text(format!("{CLOCK}/available_clocksource")).unwrap_or_default();
    Clock { source, available: available.split_ascii_whitespace().map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_stands_in_the_second_pair_of_brackets() {
        for (text, expected) in [
            (
                "Linux version 6.12.30-amd64 (who@where) (gcc-14 (Debian 14.2.0-19) 14.2.0, GNU ld (GNU Binutils) 2.44) #1 SMP",
                Some("gcc-14 (Debian 14.2.0-19) 14.2.0, GNU ld (GNU Binutils) 2.44"),
            ),
            (
                "Linux version 2.4.4 (root@old) (gcc version 2.95.3 20010315) #2",
                Some("gcc version 2.95.3 20010315"),
            ),
            ("Linux version 6.1 (who@where) #1", None),
            (") ( (", None),
            ("", None),
        ] {
            assert_eq!(compiler(text), expected, "{text}");
        }
    }
}
