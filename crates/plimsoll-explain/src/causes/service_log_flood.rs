//! `service.log_flood`: So much is logged that the journal or the audit takes the CPU, or holds callers up.

use plimsoll_model::cause::{Cause, CauseId};

use super::{Definition, Known, Page, by_levels};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "a program that writes logs (systemd-journald, rsyslogd, auditd, kauditd) uses much more of a CPU, or the kernel says that the audit's backlog is full",
        evidence_against: "the programs that write logs are idle",
        test: "stop the message that comes most often, or the rule of the audit, and measure again",
        remedy: "let the program log less, limit it (RateLimitBurst= of journald.conf), remove rules of the audit",
    },
    find,
)
.beyond_the_run();

const ID: CauseId = CauseId::ServiceLogFlood;
const PROGRAMS: [&str; 6] = [
    "process.systemd-journald.cpu_share",
    "process.systemd-journal.cpu_share",
    "process.rsyslogd.cpu_share",
    "process.auditd.cpu_share",
    "process.kauditd.cpu_share",
    "process.syslog-ng.cpu_share",
];
/// From this part of one CPU on it is much, in per cent.
const LEAST: f64 = 20.0;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let program = by_levels::above(&PROGRAMS, LEAST, known.evidence);
    let full = by_levels::above(&["kernel_log.audit_backlog"], 0.0, known.evidence);
    if program.or(full).is_none() { Vec::new() } else { by_levels::shown(ID, 0.75, &[program, full]) }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{grew, ids};
    use super::ID;

    #[test]
    fn a_journal_that_takes_a_cpu_is_named() {
        assert_eq!(ids(&[grew("machine", "process.systemd-journald.cpu_share (level)", 0.3, 85.0)]), [ID]);
        assert!(ids(&[grew("machine", "process.nginx.cpu_share (level)", 0.3, 85.0)]).is_empty());
    }
}
