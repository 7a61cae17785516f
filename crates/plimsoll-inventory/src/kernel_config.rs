//! The configuration with which the kernel was built, if it is known.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;

use flate2::read::GzDecoder;
use plimsoll_model::report::KernelConfig;
use sha2::{Digest, Sha256};

use super::tree::Tree;

/// A configuration has some 300 kB; what is longer is cut there.
const LONGEST: u64 = 4 << 20;

/// Options that change what a program measures, with the defaults of Kconfig on x86-64 (kernel/Kconfig.preempt,
/// kernel/Kconfig.hz, kernel/time/Kconfig, arch/x86/Kconfig, lib/Kconfig.debug, mm/Kconfig.debug,
/// security/Kconfig.hardening; Linux 6.12). `y`, `n`, or a value.
const WATCHED: &[(&str, &str)] = &[
    ("PREEMPT_NONE", "y"),
    ("PREEMPT_VOLUNTARY", "n"),
    ("PREEMPT", "n"),
    ("PREEMPT_LAZY", "n"),
    ("PREEMPT_RT", "n"),
    ("PREEMPT_DYNAMIC", "y"),
    ("HZ", "250"),
    ("HZ_PERIODIC", "n"),
    ("NO_HZ_IDLE", "y"),
    ("NO_HZ_FULL", "n"),
    // The switch for all of them, by the names that it has had.
    ("CPU_MITIGATIONS", "y"),
    ("SPECULATION_MITIGATIONS", "y"),
    ("MITIGATION_PAGE_TABLE_ISOLATION", "y"),
    ("PAGE_TABLE_ISOLATION", "y"),
    ("MITIGATION_RETPOLINE", "y"),
    ("RETPOLINE", "y"),
    ("CC_OPTIMIZE_FOR_SIZE", "n"),
    ("LTO_CLANG", "n"),
    ("CFI_CLANG", "n"),
    ("NUMA_BALANCING", "n"),
    ("SCHED_AUTOGROUP", "n"),
    ("TRANSPARENT_HUGEPAGE_ALWAYS", "n"),
    ("TRANSPARENT_HUGEPAGE_MADVISE", "n"),
    ("INIT_ON_ALLOC_DEFAULT_ON", "n"),
    ("INIT_ON_FREE_DEFAULT_ON", "n"),
    ("RANDOMIZE_KSTACK_OFFSET_DEFAULT", "n"),
    ("HARDENED_USERCOPY", "n"),
    // Debugging options that take time.
    ("KASAN", "n"),
    ("KCSAN", "n"),
    ("KMSAN", "n"),
    ("KFENCE", "n"),
    ("UBSAN", "n"),
    ("PROVE_LOCKING", "n"),
    ("LOCKDEP", "n"),
    ("LOCK_STAT", "n"),
    ("DEBUG_LOCK_ALLOC", "n"),
    ("DEBUG_SPINLOCK", "n"),
    ("DEBUG_MUTEXES", "n"),
    ("DEBUG_RWSEMS", "n"),
    ("DEBUG_ATOMIC_SLEEP", "n"),
    ("DEBUG_PREEMPT", "n"),
    ("DEBUG_PAGEALLOC", "n"),
    ("DEBUG_OBJECTS", "n"),
    ("DEBUG_KMEMLEAK", "n"),
    ("DEBUG_VM", "n"),
    ("DEBUG_LIST", "n"),
    ("DEBUG_NET", "n"),
    ("SLUB_DEBUG_ON", "n"),
    ("PAGE_POISONING", "n"),
    ("RCU_TRACE", "n"),
    ("FAULT_INJECTION", "n"),
    ("GCOV_KERNEL", "n"),
    ("KCOV", "n"),
];

/// Reads it from the first of the places where it may stand: the running kernel's own (CONFIG_IKCONFIG_PROC), or a distribution's file for
/// this release.
pub(super) fn read(tree: &Tree<'_>, release: Option<&str>) -> Option<KernelConfig> {
    let packed = "proc/config.gz";
    if let Ok(bytes) = tree.bytes(packed) {
        let mut text = Vec::new();
        // A part that was unpacked before an error would be half a configuration.
        if GzDecoder::new(bytes.as_slice()).take(LONGEST).read_to_end(&mut text).is_ok() {
            return Some(of(&format!("/{packed}"), &text));
        }
    }
    let release = release?;
    [format!("boot/config-{release}"), format!("usr/lib/modules/{release}/config")].into_iter().find_map(
        |place| {
            let bytes = tree.bytes(&place).ok()?;
            let kept = bytes.len().min(usize::try_from(LONGEST).unwrap_or(usize::MAX));
            Some(of(&format!("/{place}"), &bytes[..kept]))
        },
    )
}

fn of(source: &str, text: &[u8]) -> KernelConfig {
    let mut sha256 = String::new();
    for byte in Sha256::digest(text) {
        let _ = write!(sha256, "{byte:02x}");
    }
    let text = String::from_utf8_lossy(text);
    let set: BTreeMap<&str, &str> = text.lines().filter_map(option).collect();
    let watched = || WATCHED.iter().filter_map(|(name, usual)| Some((*name, *usual, *set.get(name)?)));
    let owned = |(name, _, value): (&str, &str, &str)| (name.to_owned(), value.to_owned());
    KernelConfig {
        source: source.to_owned(),
        sha256,
        options: watched().filter(|(.., value)| *value != "n").map(owned).collect(),
        changed: watched().filter(|(_, usual, value)| usual != value).map(owned).collect(),
    }
}

/// `CONFIG_HZ=250`, or `# CONFIG_KASAN is not set`.
fn option(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix("# CONFIG_") {
        return Some((rest.strip_suffix(" is not set")?, "n"));
    }
    let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
    Some((name, value.trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const CONFIG: &str = "#\n# Automatically generated file; DO NOT EDIT.\n#\nCONFIG_CC_VERSION_TEXT=\"gcc-14\"\n# CONFIG_PREEMPT_NONE is not set\n\
        CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=1000\nCONFIG_CPU_MITIGATIONS=y\nCONFIG_KASAN=y\n# CONFIG_LOCKDEP is not set\nCONFIG_EXT4_FS=m\n";

    fn pairs(all: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
        all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    #[test]
    fn what_matters_of_a_configuration_is_kept_with_its_place_and_what_is_not_as_usual() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("boot")).unwrap();
        fs::write(root.path().join("boot/config-6.12.1"), CONFIG).unwrap();
        let tree = Tree::new(root.path());
        assert_eq!(read(&tree, Some("6.12.2")), None);
        let found = read(&tree, Some("6.12.1")).unwrap();
        assert_eq!(found.source, "/boot/config-6.12.1");
        // sha256sum(1) of the same text.
        assert_eq!(found.sha256, "21dabc61815ff8a05cb6be0763c504085fcdbf561c83d1d243d820b0a7bc7987");
        assert_eq!(
            pairs(&found.options),
            [("CPU_MITIGATIONS", "y"), ("HZ", "1000"), ("KASAN", "y"), ("PREEMPT_VOLUNTARY", "y")]
        );
        assert_eq!(
            pairs(&found.changed),
            [("HZ", "1000"), ("KASAN", "y"), ("PREEMPT_NONE", "n"), ("PREEMPT_VOLUNTARY", "y")]
        );
    }

    #[test]
    fn the_running_kernels_own_comes_first_and_a_damaged_one_is_none() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["boot", "proc"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("boot/config-6.12.1"), CONFIG).unwrap();
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(CONFIG.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        fs::write(root.path().join("proc/config.gz"), &packed).unwrap();
        let tree = Tree::new(root.path());
        let own = read(&tree, Some("6.12.1")).unwrap();
        assert_eq!(own.source, "/proc/config.gz");
        fs::write(root.path().join("proc/config.gz"), &packed[..packed.len() / 2]).unwrap();
        let other = read(&tree, Some("6.12.1")).unwrap();
        assert_eq!((other.source.as_str(), &other.sha256), ("/boot/config-6.12.1", &own.sha256));
    }
}
