//! Storage: volumes that exist for a trial, and the loads that read and write them.

use crate::experiment::prelude::*;

/// A place to store. Exactly one of `folder`, `loop` and `device` says what it is.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// The host that has it.
    pub on: String,
    /// A folder made for the trial in a file system that is there already. Needs no root.
    pub folder: Option<FolderVolume>,
    /// A loop device made for the trial, on an unnamed file; raw, or with a file system. Needs root.
    #[serde(rename = "loop")]
    pub image: Option<LoopVolume>,
    /// A block device of this machine, such as `"/dev/sdb"`, as it is. A load that writes to it is refused unless `--destroy` names it.
    pub device: Option<String>,
    /// How the kernel queues requests to it; read before, and put back afterwards. Needs root.
    #[serde(default, skip_serializing_if = "Queueing::is_default")]
    pub queue: Queueing,
    /// How much its device may do, as if it were a slower one. Needs root.
    #[serde(default, skip_serializing_if = "DeviceLimit::is_none")]
    pub limit: DeviceLimit,
}

impl Volume {
    /// Whether files can be made on it.
    pub fn has_files(&self) -> bool {
        self.folder.is_some() || self.image.as_ref().is_some_and(|image| image.filesystem.is_some())
    }
}

/// How much a block device may do. Where control groups are of version 1, everything that reaches the device counts, also what the journal of
/// its file system writes (`blkio.throttle.*` of the root group). With version 2, what the processes of the host ask for (`io.max`).
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceLimit {
    /// Reads per second, and as many writes (1 to 1000000). A flush counts as a write.
    pub iops: Option<u32>,
    /// Bytes per second that are read, and as many written (from 64k).
    pub bandwidth: Option<ByteSize>,
}

impl DeviceLimit {
    /// Whether it leaves everything as it is.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A folder in a file system that is there already.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FolderVolume {
    /// The existing folder in which it is made; by default that for temporary files (`TMPDIR`, or `/tmp`).
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// A loop device on a file that goes with the trial.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoopVolume {
    /// How large it is (1M to 1T). The file is sparse: it takes up what is written to it.
    pub size: ByteSize,
    /// The existing folder in which the file is made; by default that for temporary files (`TMPDIR`, or `/tmp`).
    #[serde(rename = "in")]
    pub parent: Option<String>,
    /// The file system that is made on it; without it, loads use the device itself.
    pub filesystem: Option<Filesystem>,
    /// Mount options, as for mount(8): `"noatime,data=journal"`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// The existing folder at which the host sees the file system mounted; by default one that is made for it.
    pub at: Option<String>,
    /// Whether the device goes past the page cache to its file. Otherwise what was read or written once may come from the cache of the
    /// file beneath, whatever is done to the cache of the file above.
    #[serde(default = "yes")]
    pub direct: bool,
}

fn yes() -> bool {
    true
}

/// A file system that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Filesystem {
    /// The fourth extended file system. `data=journal`, `data=ordered` and `data=writeback` are mount options of it.
    Ext4,
    /// XFS. It needs 300M or more.
    Xfs,
}

impl Filesystem {
    /// The kernel's name of it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How the kernel queues requests to a block device (`/sys/block/*/queue`).
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Queueing {
    /// The I/O scheduler, such as `"none"`, `"mq-deadline"`, `"kyber"` or `"bfq"`; one that the kernel knows.
    pub scheduler: Option<String>,
    /// How many requests may wait in the scheduler (`nr_requests`).
    pub depth: Option<u32>,
    /// How many requests the device itself may hold at a time (`device/queue_depth`: NCQ of SATA, tagged queueing of SCSI; 1 to 1024). Only of
    /// a `device` that has such a queue.
    pub ncq: Option<u32>,
    /// How far the kernel reads ahead of a sequential reader (`read_ahead_kb`; 0 to 1G).
    pub read_ahead: Option<ByteSize>,
}

impl Queueing {
    /// Whether it leaves everything as it is.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A load that is there beside what is measured, on a host of the same rig.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundLoad {
    /// The load. It goes on until its time is over, whatever it says of its own length.
    pub load: String,
    /// The phases, measured or driven ones, during which it is there; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub during: Vec<String>,
    /// Whether it is there at all: for a factor to switch.
    #[serde(default = "yes")]
    pub present: bool,
    /// Let it come and go: it comes at this interval. It changes between two measured slices, never within one.
    pub every: Option<Span>,
    /// How long it stays each time; less than `every`, beside which it stands.
    pub stays: Option<Span>,
}

impl BackgroundLoad {
    /// Whether it is there at this time after the start of a phase. It is away first.
    pub fn is_there(&self, since: std::time::Duration) -> bool {
        match (self.every, self.stays) {
            _ if !self.present => false,
            (Some(every), Some(stays)) if !every.0.is_zero() => {
                let place = since.as_nanos() % every.0.as_nanos();
                place >= (every.0.saturating_sub(stays.0)).as_nanos()
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_background_load_comes_and_goes_and_is_away_first() {
        let background = BackgroundLoad {
            load: "reader".into(),
            during: Vec::new(),
            present: true,
            every: Some(Span::secs(4)),
            stays: Some(Span::secs(1)),
        };
        let there = |s: f64| background.is_there(Duration::from_secs_f64(s));
        assert_eq!([0.0, 2.9, 3.1, 3.9, 4.1, 7.5].map(there), [false, false, true, true, false, true]);
        assert!(!BackgroundLoad { present: false, ..background.clone() }.is_there(Duration::from_secs(3)));
        assert!(BackgroundLoad { every: None, stays: None, ..background }.is_there(Duration::ZERO));
    }
}
