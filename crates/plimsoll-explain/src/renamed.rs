//! Functions that have another name on the other side of a comparison, though they are the same: by what a compiler appends to names of the copies
//! that it makes, by the suffix that Linux 6.10 gave to functions whose allocations are accounted to their callers, and by underscores before them.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::observation::{Frame, FrameKind, Profile};

/// What GCC and Clang put between a name and a number for copies of a function (GCC: the suffixes of clones; Clang: LTO's
/// `.llvm.`). `cold` is none of them: that is another part of the function.
const COPIES: [&str; 6] = ["isra", "constprop", "part", "lto_priv", "llvm", "localalias"];
/// What a function has at its end that is only called by a macro which accounts its allocations (Linux 6.10, include/linux/alloc_tag.h).
const UNACCOUNTED: &str = "_noprof";

/// What a name is without what says which copy of the function it is.
fn plain(name: &str) -> String {
    let mut parts = name.split('.');
    // Names of local labels begin with a dot.
    let stem = parts.next().filter(|stem| !stem.is_empty());
    let Some(stem) = stem else { return name.to_owned() };
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let kept = parts.filter(|part| !COPIES.contains(part) && !is_number(part));
    let stem = stem.strip_suffix(UNACCOUNTED).filter(|rest| !rest.is_empty()).unwrap_or(stem);
    [stem].into_iter().chain(kept).collect::<Vec<_>>().join(".")
}

/// The plain name without leading underscores: they mark the variant whose callers must meet a condition first.
fn bare(name: &str) -> String {
    plain(name).trim_start_matches('_').to_owned()
}

/// Pairs the names in `before` with those in `after`. Names that only one side has are paired if they differ in a
/// suffix alone, then if they differ in leading underscores alone. Ambiguous names stay unpaired.
fn pairs<'n>(before: &BTreeSet<&'n str>, after: &BTreeSet<&'n str>) -> BTreeMap<&'n str, &'n str> {
    let mut gone: BTreeSet<&str> = before.difference(after).copied().collect();
    let mut come: BTreeSet<&str> = after.difference(before).copied().collect();
    let mut found = BTreeMap::new();
    for key in [plain as fn(&str) -> String, bare] {
        // With the names that both sides have: a function that is still there was not renamed to its neighbour.
        let by_key = |names: &BTreeSet<&'n str>| {
            let mut all: BTreeMap<String, Vec<&'n str>> = BTreeMap::new();
            names.iter().for_each(|name| all.entry(key(name)).or_default().push(name));
            all
        };
        let (was, is) = (by_key(before), by_key(after));
        for (name, olds) in &was {
            if let (&[old], Some(&[new])) = (olds.as_slice(), is.get(name).map(Vec::as_slice))
                && gone.contains(old)
                && come.contains(new)
            {
                gone.remove(old);
                come.remove(new);
                found.insert(old, new);
            }
        }
    }
    found
}

/// Gives the functions of `before` the names that they have in `after`.
///
/// # Returns
/// The name that each of them had, by the new one.
pub fn align(before: &mut Profile, after: &Profile) -> BTreeMap<Frame, String> {
    let mut had = BTreeMap::new();
    for kind in [FrameKind::Kernel, FrameKind::User] {
        let names = |profile: &Profile| -> BTreeSet<String> {
            let of_kind = profile.frames.iter().filter(|frame| frame.kind == kind);
            of_kind.map(|frame| frame.name.clone()).collect()
        };
        let both = [names(before), names(after)];
        let [was, is] = both.each_ref().map(|names| names.iter().map(String::as_str).collect());
        let pairs = pairs(&was, &is);
        for frame in before.frames.iter_mut().filter(|frame| frame.kind == kind) {
            if let Some(new) = pairs.get(frame.name.as_str()) {
                let old = std::mem::replace(&mut frame.name, (*new).to_owned());
                had.insert(frame.clone(), old);
            }
        }
    }
    had
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(before: &[&'static str], after: &[&'static str]) -> Vec<String> {
        let [before, after] = [before, after].map(|names| names.iter().copied().collect());
        pairs(&before, &after).iter().map(|(old, new)| format!("{old} {new}")).collect()
    }

    #[test]
    fn copies_of_a_function_are_that_function() {
        for (name, expected) in [
            ("tcp_ack", "tcp_ack"),
            ("tcp_ack.isra.0", "tcp_ack"),
            ("kmalloc_slab.constprop.0.isra.0", "kmalloc_slab"),
            ("vfs_read.part.12", "vfs_read"),
            ("vfs_read.cold", "vfs_read.cold"),
            ("vfs_read.cold.3", "vfs_read.cold"),
            ("__alloc_pages_noprof", "__alloc_pages"),
            ("kmem_cache_alloc_lru_noprof.llvm.1234567", "kmem_cache_alloc_lru"),
            ("_noprof", "_noprof"),
            (".Lhere", ".Lhere"),
        ] {
            assert_eq!(plain(name), expected, "{name}");
        }
    }

    #[test]
    fn a_name_that_went_is_paired_with_the_one_that_came_in_its_place() {
        assert_eq!(
            paired(&["__alloc_pages", "read"], &["__alloc_pages_noprof", "read"]),
            ["__alloc_pages __alloc_pages_noprof"]
        );
        assert_eq!(paired(&["walk.isra.0"], &["walk"]), ["walk.isra.0 walk"]);
        assert_eq!(paired(&["__put"], &["put"]), ["__put put"]);
    }

    #[test]
    fn where_two_could_be_meant_none_is() {
        // Both are in one kernel, and each is a function of its own.
        assert_eq!(paired(&["__fput", "fput"], &["fput"]), [] as [&str; 0]);
        assert_eq!(paired(&["fput"], &["__fput", "fput"]), [] as [&str; 0]);
        assert_eq!(paired(&["walk"], &["walk.isra.0", "walk.part.0"]), [] as [&str; 0]);
        assert_eq!(paired(&["walk"], &["walk.cold"]), [] as [&str; 0]);
        assert_eq!(paired(&["one"], &["another"]), [] as [&str; 0]);
    }

    /// Function names of two of Debian's kernels (`/proc/kallsyms` of 6.1.0-56-cloud-amd64 and
    /// 6.12.117+deb12-cloud-amd64). Each equals a name of the other kernel, or one whose allocations are accounted,
    /// except for suffixes and underscores.
    const REAL: [&str; 2] =
        [include_str!("../tests/names/linux-6.1.txt"), include_str!("../tests/names/linux-6.12.txt")];

    #[test]
    fn functions_of_two_real_kernels_are_paired_as_the_kernels_source_renamed_them() {
        let [before, after]: [BTreeSet<&str>; 2] = REAL.map(|names| names.lines().collect());
        let found = pairs(&before, &after);
        // What include/linux/alloc_tag.h did to a function: the old name is gone, and the new one has the suffix.
        let renamed =
            before.iter().filter(|old| !after.contains(*old) && after.contains(&*format!("{old}_noprof")));
        let renamed: Vec<&&str> = renamed.collect();
        assert!(renamed.len() > 40, "{renamed:?}");
        for old in renamed {
            assert_eq!(found.get(old).copied(), Some(&*format!("{old}_noprof")));
        }
        // What suffixes of compilers mean, and include/linux/gfp.h of Linux 6.10.
        for (old, new) in [
            ("ptrace_stop.part.0", "ptrace_stop"),
            ("tcp_options_write", "tcp_options_write.constprop.0"),
            ("blk_mq_plug_issue_direct.constprop.0", "blk_mq_plug_issue_direct"),
            ("__get_free_pages", "get_free_pages_noprof"),
        ] {
            assert_eq!(found.get(old), Some(&new), "{old}");
        }
        for (old, new) in &found {
            assert!(!after.contains(old) && !before.contains(new), "{old} and {new} are both there");
        }
        assert!(!found.contains_key("fput") && !found.contains_key("__fput"));
    }
}
