//! The work of a machine whose rate was not measured: segments with data per second that TCP sent, without retransmissions.
//!
//! A compiler beside a server that answers as many requests holds nothing up. Where the second side did as much work, a note reports who uses more of
//! the machine, and no cause is named.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_explain::causes::is_of_use;
use plimsoll_model::cause::Cause;
use plimsoll_model::observation::{FrameKind, Profile};

/// Segments with data, those sent again left out.
pub(super) const SENT: &str = "netstat.TcpExt.TCPOrigDataSent";
/// Fewer in a second may be those of a shell or of monitoring, and not the work of the machine.
const LEAST: f64 = 100.0;
/// From this part of it on as much work was done: recordings of one load scatter by less.
const AS_MUCH: f64 = 0.95;

/// Segments with data in each second, before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Work {
    before: f64,
    after: f64,
}

impl Work {
    /// `None` if TCP sent too little before.
    pub(super) fn of(before: f64, after: f64) -> Option<Self> {
        (before >= LEAST && after.is_finite()).then_some(Self { before, after })
    }

    /// Which part of it is missing after.
    pub(super) fn lost(self) -> Option<f64> {
        (!self.is_as_much()).then_some(1.0 - self.after / self.before)
    }

    fn is_as_much(self) -> bool {
        self.after >= AS_MUCH * self.before
    }

    /// Moves causes that explain nothing into a note, where as much work was done.
    pub(super) fn spare(self, causes: &mut Vec<Cause>) -> Option<String> {
        if !self.is_as_much() {
            return None;
        }
        let titles: Vec<String> =
            causes.extract_if(.., |cause| is_of_use(cause.id)).map(|it| it.title).collect();
        for (rank, cause) in (1..).zip(causes) {
            cause.rank = rank;
        }
        (!titles.is_empty()).then(|| {
            format!(
                "As much work was done: TCP sent {:.0} segments with data in each second before, and {:.0} after. So this is a difference, and no cause unless answers took longer: {}.",
                self.before,
                self.after,
                titles.join("; ")
            )
        })
    }
}

/// Beginnings of the kernel functions through which a program uses a socket: net/socket.c, net/ipv4 and net/unix.
const SOCKETS: [&str; 8] =
    ["sock_", "__sock_", "__sys_send", "__sys_recv", "____sys_", "tcp_", "unix_", "inet_"];
/// A program that was found in fewer samples may have used one.
const LEAST_SAMPLES: u64 = 20;

/// Programs that used the CPUs and no socket: none of them did what is missing.
pub(super) fn bystanders(profiles: [&Profile; 2]) -> BTreeSet<String> {
    // Of each program its samples, and those within a call of a socket.
    let mut found: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (stack, samples) in profiles.into_iter().flat_map(Profile::stacks) {
        let process = stack.iter().find(|frame| frame.kind == FrameKind::Process);
        let Some(process) = process else { continue };
        let is_socket = stack.iter().any(|frame| {
            frame.kind == FrameKind::Kernel && SOCKETS.iter().any(|start| frame.name.starts_with(start))
        });
        let (all, of_sockets) = found.entry(&process.name).or_default();
        *all += samples;
        *of_sockets += if is_socket { samples } else { 0 };
    }
    let others = found.into_iter().filter(|(_, (all, of_sockets))| *all >= LEAST_SAMPLES && *of_sockets == 0);
    others.map(|(process, _)| process.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cause::CauseId;
    use plimsoll_model::observation::{Arm, Frame, ProfileBuilder, ProfileClock};

    use super::*;

    fn cause(id: CauseId) -> Cause {
        Cause {
            rank: 1,
            id,
            title: id.title().to_owned(),
            confidence: 0.6,
            evidence: Vec::new(),
            remedy: String::new(),
            confirmed: false,
        }
    }

    #[test]
    fn who_uses_more_is_no_cause_where_as_much_was_done_and_what_is_dropped_is() {
        let all = [CauseId::CpuContended, CauseId::NetListenOverflow];
        let left = |before, after| {
            let mut causes = all.map(cause).to_vec();
            let note = Work::of(before, after).and_then(|work| work.spare(&mut causes));
            let ids: Vec<_> = causes.iter().map(|cause| (cause.rank, cause.id)).collect();
            (note.is_some(), ids)
        };
        assert_eq!(left(5547.0, 6157.0), (true, vec![(1, CauseId::NetListenOverflow)]));
        let kept = (false, all.map(|id| (1, id)).to_vec());
        assert_eq!(left(5547.0, 3000.0), kept);
        assert_eq!(left(9.0, 12.0), kept, "that is a shell");
    }

    #[test]
    fn a_compiler_is_a_bystander_and_a_server_or_what_hardly_ran_is_none() {
        let mut builder = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, 49);
        let mut add = |process: &str, function: &str, samples| {
            let frames = [
                Frame::new(FrameKind::Host, "here"),
                Frame::new(FrameKind::Process, process),
                Frame::new(FrameKind::Kernel, function),
            ];
            builder.add(&frames, samples);
        };
        add("rustc", "vfs_read", 90);
        add("nginx", "vfs_read", 90);
        add("nginx", "tcp_sendmsg", 1);
        add("cron", "vfs_read", 9);
        let profile = builder.build();
        assert_eq!(bystanders([&profile, &profile]), BTreeSet::from(["rustc".to_owned()]));
    }
}
