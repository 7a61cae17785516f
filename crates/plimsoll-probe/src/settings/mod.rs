//! Settings of running programs, one text for each: `LC_ALL=C`, `net.ipv4.tcp_sack 0`, `mount option sync`.
//!
//! They say nothing by themselves. Where two programs of one name are compared, the settings that only one of them has are what an engineer
//! looks at first.

mod files;
mod network;
mod process;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

pub(crate) use files::mount_points;
pub use files::of_files;
pub use network::of_namespace;
pub use process::of_process;

use crate::small_file;

/// The longest text of a setting, in letters.
const LONGEST: usize = 120;
/// The most folders below each other that hold sysctls.
const DEEPEST: usize = 6;
/// Folders of sysctls that belong to the whole machine. What lies deeper is of single domains or file systems.
const OF_MACHINE: [&str; 3] = ["vm", "kernel", "fs"];

/// The sysctls of the whole machine.
#[must_use]
pub fn of_machine(root: &Path) -> BTreeSet<String> {
    let folder = root.join("proc/sys");
    OF_MACHINE.iter().flat_map(|part| sysctls(&folder, &folder.join(part), 0)).collect()
}

/// All settings in files below a folder, by their names with dots. Those of single interfaces are left out: their names differ.
fn sysctls(root: &Path, folder: &Path, depth: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 0 && is_of_all(&path) {
            found.extend(sysctls(root, &path, depth - 1));
        } else if !is_folder
            && !is_state(&path)
            && let Ok(value) = small_file::text(&path)
            && let Ok(name) = path.strip_prefix(root)
        {
            let name = name.to_string_lossy().replace('/', ".");
            let value: Vec<&str> = value.split_whitespace().collect();
            found.insert(shortened(&format!("{name} {}", value.join(" "))));
        }
    }
    found
}

/// Whether a file holds no setting, but a count, something random or a key. A read of `vm.stat_refresh` makes all CPUs sum up their counts.
fn is_state(file: &Path) -> bool {
    let name = file.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    ["count", "-nr", "-state", "stat_refresh", "random", "key", "secret", "last_pid"]
        .iter()
        .any(|part| name.contains(part))
}

/// Whether a folder holds settings of all interfaces: `net/ipv4/conf/all`, and not `net/ipv4/conf/eth0`.
fn is_of_all(folder: &Path) -> bool {
    let name =
        |path: Option<&Path>| path.and_then(Path::file_name).map(|it| it.to_string_lossy().into_owned());
    let is_one_of_many = name(folder.parent()).is_some_and(|it| it == "conf" || it == "neigh");
    !is_one_of_many || name(Some(folder)).is_some_and(|it| it == "all")
}

/// A text without its end, where it is too long.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysctls_are_read_by_their_names_and_those_of_single_interfaces_are_not() {
        let root = tempfile::tempdir().unwrap();
        for (file, value) in [
            ("vm/swappiness", "60\n"),
            ("net/ipv4/tcp_rmem", "4096\t16000\t16000\n"),
            ("net/ipv4/conf/all/rp_filter", "2\n"),
            ("net/ipv4/conf/eth0/rp_filter", "1\n"),
        ] {
            let path = root.path().join("proc/sys").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        }
        assert_eq!(of_machine(root.path()), BTreeSet::from(["vm.swappiness 60".to_owned()]));
        let folder = root.path().join("proc/sys");
        let net: Vec<String> = sysctls(&folder, &folder.join("net"), DEEPEST).into_iter().collect();
        assert_eq!(net, ["net.ipv4.conf.all.rp_filter 2", "net.ipv4.tcp_rmem 4096 16000 16000"]);
    }

    #[test]
    fn a_long_text_ends_early() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"ü".repeat(500)).chars().count(), LONGEST + 1);
    }
}
