//! `service.file_writes`: A program spends its time on writes to a file.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::GrownFunction;

use super::{Definition, Known, OPEN_SHARE, Page, by_functions, cause, quoted};
use crate::profile::FILE_WRITES;

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "each operation takes more CPU time, and a good part of it is in calls that write to a file",
        evidence_against: "the file is written as often before. Writers wait for the disk, which another cause tells",
        test: "count the calls and see the file (`strace -fc -e write,writev,pwrite64 -p PID`, `ls -l /proc/PID/fd`). Turn that log off, and measure again",
        remedy: "a higher level of the log than debug, a buffer for it, or larger pieces in each call",
    },
    find,
)
.of_use();

const ID: CauseId = CauseId::ServiceFileWrites;
/// The least part of the added time that these calls take. What the program does to make up each line comes on top of it.
const LEAST: f64 = 0.25;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let Some(profile) = known.profile.filter(|_| by_functions::explains_all(known)) else {
        return Vec::new();
    };
    let of_measured =
        |it: &&GrownFunction| it.owner.last().is_some_and(|process| known.measured.has(process));
    let is_write = |it: &&GrownFunction| FILE_WRITES.contains(&it.function.as_str());
    let Some(writes) =
        profile.entered.iter().filter(is_write).find(of_measured).filter(|it| it.share >= LEAST)
    else {
        return Vec::new();
    };
    let process = writes.owner.last().map(String::as_str).unwrap_or_default();
    let opened = known.evidence.iter().filter(|it| it.metric.starts_with(OPEN_SHARE) && it.shift > 0.0);
    let opened: Vec<CauseEvidence> = opened.take(2).map(quoted).collect();
    let evidence =
        std::iter::once(by_functions::function_evidence(writes, &profile.per)).chain(opened).collect();
    vec![Cause { title: format!("{}: `{process}`", ID.title()), ..cause(ID, 0.75, evidence) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::FrameKind;
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::{profile, relay};
    use super::super::named;
    use super::*;

    #[test]
    fn a_program_whose_added_time_is_in_writes_to_a_file_is_named() {
        let of = |process: &str, function: &str, share: f64| {
            let writes = GrownFunction {
                function: function.into(),
                was: None,
                kind: FrameKind::Kernel,
                before_us: 0.0,
                after_us: 900.0 * share,
                share,
                owner: vec!["server".into(), process.into()],
                called_by: Vec::new(),
            };
            let before = profile().before;
            let after = ProfileSide { cpu_us: before.cpu_us + 900.0, ..before };
            let profile = ProfileReport { entered: vec![writes], after, grew: true, ..profile() };
            let known = Known { profile: Some(&profile), measured: relay(), ..Known::default() };
            named(&known).iter().any(|cause| cause.id == ID)
        };
        assert!(of("relay", "shmem_file_write_iter", 0.46));
        assert!(!of("relay", "ksys_write", 0.46), "it may write to a socket");
        assert!(!of("relay", "ext4_file_write_iter", 0.1), "a small part of it");
        assert!(!of("stranger", "ext4_file_write_iter", 0.46));
    }
}
