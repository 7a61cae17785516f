//! `memory.large_fork`: Each fork copies the page tables of a large process.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::FrameKind;

use super::{Definition, Known, Page, by_functions};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "most of the added CPU time is in functions that copy page tables (copy_page_range, dup_mmap), and that tear the copies down (unmap_page_range)",
        evidence_against: "the process is as small as before. It does not fork",
        test: "start the service with less memory, or let it fork before it fills its memory, and measure again",
        remedy: "use posix_spawn or vfork. Fork from a small helper process. Use huge pages for the memory",
    },
    find,
);

/// Functions that copy page tables (mm/memory.c, mm/rmap.c and kernel/fork.c), and those that tear the copies down. A process that only unmaps
/// its memory calls the latter as well.
const FUNCTIONS: by_functions::Signature = by_functions::Signature {
    functions: &[
        "copy_page_range",
        "copy_p4d_range",
        "copy_pud_range",
        "copy_pmd_range",
        "copy_pte_range",
        "copy_present_pte",
        "copy_present_ptes",
        "__copy_present_ptes",
        "dup_mm",
        "dup_mmap",
        "anon_vma_fork",
        "anon_vma_clone",
        "vm_normal_page",
        "exit_mmap",
        "unmap_vmas",
        "unmap_page_range",
        "zap_pte_range",
        "zap_present_ptes",
        "folio_remove_rmap_ptes",
    ],
    with: &[],
};
/// Beginnings of the names of those that copy.
const COPIES: [&str; 4] = ["copy_", "__copy_", "dup_mm", "anon_vma_"];
/// The least part of the added time that copies take.
const LEAST_COPIES: f64 = 0.15;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let Some(profile) = known.profile else { return Vec::new() };
    let functions = profile.narrowest.iter().chain(&profile.functions);
    let is_copy = |name: &str| {
        FUNCTIONS.functions.contains(&name) && COPIES.iter().any(|beginning| name.starts_with(beginning))
    };
    let copies = functions.filter(|it| it.kind == FrameKind::Kernel && is_copy(&it.function));
    if copies.map(|it| it.share).fold(0.0, f64::max) < LEAST_COPIES {
        return Vec::new();
    }
    by_functions::named(CauseId::MemoryLargeFork, &FUNCTIONS, known).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{GrownFunction, ProfileReport, ProfileSide};

    use super::super::fixture::profile;
    use super::super::named;
    use super::*;

    #[test]
    fn copies_of_page_tables_are_named_with_their_teardown_and_teardown_alone_is_not() {
        let of = |shares: &[(&str, f64)]| {
            let function = |(name, share): &(&str, f64)| GrownFunction {
                function: (*name).into(),
                was: None,
                kind: FrameKind::Kernel,
                before_us: 1.0,
                after_us: 1.0 + 1000.0 * share,
                share: *share,
                owner: vec!["server".into(), "redis".into()],
                called_by: Vec::new(),
            };
            let after = ProfileSide { cpu_us: 1500.0, kernel_us: 1300.0, ..profile().after };
            let functions = shares.iter().map(function).collect();
            let profile = ProfileReport { grew: true, functions, after, ..profile() };
            let causes = named(&Known { profile: Some(&profile), ..Known::default() });
            causes.iter().map(|cause| cause.id).collect::<Vec<_>>()
        };
        // Shares of a process with 400 MiB that forks for each request.
        let forks = [("copy_page_range", 0.31), ("unmap_page_range", 0.24), ("vm_normal_page", 0.08)];
        assert_eq!(of(&forks), [CauseId::MemoryLargeFork]);
        assert!(!of(&forks[1..]).contains(&CauseId::MemoryLargeFork));
        assert!(!of(&[("unmap_page_range", 0.9)]).contains(&CauseId::MemoryLargeFork));
    }
}
