//! Processors: how many, how fast, and what holds them back.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// The processors of a machine.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpus {
    /// Hardware threads that are online.
    pub count: u64,
    /// The model's name; absent where the architecture does not name it.
    pub model: Option<String>,
    /// The maker.
    pub vendor: Option<String>,
    /// Revision of the microcode.
    pub microcode: Option<String>,
    /// Sockets with a processor that is online.
    pub sockets: Option<u64>,
    /// Cores that are online, over all sockets.
    pub cores: Option<u64>,
    /// Hardware threads per core, the most of any.
    pub threads_per_core: Option<u64>,
    /// The frequency governor; `mixed: ...` where they differ.
    pub governor: Option<String>,
    /// The mean frequency now, in MHz.
    pub current_mhz: Option<f64>,
    /// The frequency without boost, in MHz.
    pub nominal_mhz: Option<f64>,
    /// The highest frequency, in MHz.
    pub max_mhz: Option<f64>,
    /// The highest frequency that the setting allows, in MHz.
    pub allowed_mhz: Option<f64>,
    /// By vulnerability, what the kernel does about it; those that do not affect this processor are left out.
    pub mitigations: BTreeMap<String, String>,
    /// How much of the time since the start the hypervisor gave to others, 0 to 1.
    pub stolen: Option<f64>,
}

const CPU: &str = "sys/devices/system/cpu";

pub(super) fn read(tree: &mut Tree<'_>) -> Cpus {
    let info = tree.expected("proc/cpuinfo", "the model is not known").unwrap_or_default();
    let of_info = |keys: &[&str]| keys.iter().find_map(|key| fields(&info, key).next()).map(str::to_owned);
    let numbers = online(tree, &info);
    let topology: Vec<_> = numbers.iter().filter_map(|number| place(tree, *number)).collect();
    let sockets: BTreeSet<_> = topology.iter().map(|(socket, ..)| socket).collect();
    let mut cores: BTreeMap<_, u64> = BTreeMap::new();
    for place in &topology {
        *cores.entry(place).or_default() += 1;
    }
    let known = |count: usize| (count > 0).then_some(count as u64);
    let frequency = |file: &str| {
        mean(numbers.iter().filter_map(|n| tree.value::<f64>(cpufreq(*n, file))).map(|khz| khz / 1e3))
    };
    let shown = mean(fields(&info, "cpu MHz").filter_map(|mhz| mhz.parse().ok()));
    let cpus = Cpus {
        count: numbers.len() as u64,
        model: of_info(&["model name", "Model", "cpu model", "cpu"]),
        vendor: of_info(&["vendor_id", "CPU implementer"]),
        microcode: of_info(&["microcode"]),
        sockets: known(sockets.len()),
        cores: known(cores.len()),
        threads_per_core: cores.values().max().copied(),
        governor: governor(tree, &numbers),
        current_mhz: frequency("scaling_cur_freq").or(shown),
        nominal_mhz: frequency("base_frequency"),
        max_mhz: frequency("cpuinfo_max_freq"),
        allowed_mhz: frequency("scaling_max_freq"),
        mitigations: mitigations(tree),
        stolen: stolen(tree),
    };
    if cpus.governor.is_none() {
        tree.miss(
            "cpufreq",
            "the kernel does not set frequencies here: the hypervisor or the firmware does".to_owned(),
        );
    }
    if cpus.sockets.is_none() {
        tree.miss("cpu topology", format!("nothing in /{CPU}/cpu*/topology"));
    }
    cpus
}

/// The numbers of the processors that are online.
fn online(tree: &Tree<'_>, info: &str) -> Vec<u32> {
    let listed = tree.text(format!("{CPU}/online")).map(|list| parse_list(&list)).unwrap_or_default();
    if listed.is_empty() {
        fields(info, "processor").filter_map(|n| n.parse().ok()).collect()
    } else {
        listed
    }
}

/// A list such as `0-3,8`; a part that is none is left out. Bounded, since a file may hold anything.
pub fn parse_list(list: &str) -> Vec<u32> {
    const MOST: usize = 65_536;
    let ranges = list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    });
    ranges.flatten().take(MOST).collect()
}

/// All values of a key of `/proc/cpuinfo`.
fn fields<'t>(info: &'t str, key: &str) -> impl Iterator<Item = &'t str> {
    info.lines().filter_map(move |line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// Socket, die and core of a processor: a core's number is unique on its die only.
fn place(tree: &Tree<'_>, number: u32) -> Option<(i64, i64, i64)> {
    let of = |file: &str| tree.value::<i64>(format!("{CPU}/cpu{number}/topology/{file}"));
    Some((of("physical_package_id")?, of("die_id").unwrap_or(0), of("core_id")?))
}

fn cpufreq(number: u32, file: &str) -> String {
    format!("{CPU}/cpu{number}/cpufreq/{file}")
}

fn governor(tree: &Tree<'_>, numbers: &[u32]) -> Option<String> {
    let all: BTreeSet<String> =
        numbers.iter().filter_map(|n| tree.text(cpufreq(*n, "scaling_governor"))).collect();
    match all.len() {
        0 | 1 => all.into_iter().next(),
        _ => Some(format!("mixed: {}", all.into_iter().collect::<Vec<_>>().join(", "))),
    }
}

fn mitigations(tree: &Tree<'_>) -> BTreeMap<String, String> {
    let directory = format!("{CPU}/vulnerabilities");
    let states = tree.names(&directory).into_iter().filter_map(|name| {
        let state = tree.text(format!("{directory}/{name}"))?;
        (state != "Not affected").then_some((name, state))
    });
    states.collect()
}

/// Share of steal in all time of the first line of `/proc/stat`.
fn stolen(tree: &Tree<'_>) -> Option<f64> {
    let stat = tree.text("proc/stat")?;
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    // guest and guest_nice, the last two, are in user and nice.
    let times: Vec<f64> = numbers.take(8).filter_map(|n| n.parse().ok()).collect();
    let all: f64 = times.iter().sum();
    let steal = times.get(7)?;
    (all > 0.0).then(|| steal / all)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_what_is_no_list_is_left_out() {
        for (text, expected) in [
            ("0-3,8", vec![0, 1, 2, 3, 8]),
            ("0", vec![0]),
            ("", vec![]),
            ("3-1", vec![]),
            ("x,5,-", vec![5]),
            ("0-99999999999,7", vec![7]),
        ] {
            assert_eq!(parse_list(text), expected, "{text:?}");
        }
        assert_eq!(parse_list("0-4000000000").len(), 65_536);
    }
}
