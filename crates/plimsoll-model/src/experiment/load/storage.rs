//! Storage loads: reads and writes of a volume.

use super::facts::{FactsType, Join};
use crate::experiment::prelude::*;

use super::extent::{amount, check_extent, check_open};
use super::{LATENCIES, LoadKind, LoadPlace, LoadType, Target, count};
use crate::effect::word;
use crate::experiment::open_loop::OpenLoop;

/// Reads and writes of a volume. Each thread has a part of its own: a file in a file system, a stretch of a device. What is written is random
/// and never the same twice, so that no device can compress it or store it once.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct StorageLoad {
    /// How many threads work side by side (1 to 64).
    #[default(1)]
    pub threads: u32,
    /// How many operations each thread keeps under way at a time (1 to 1024); more than one only with the engine `io_uring`.
    #[default(1)]
    pub depth: u32,
    /// How operations are handed to the kernel.
    pub engine: StorageEngine,
    /// Which blocks follow one another.
    pub access: Access,
    /// The share of operations that read; the others write.
    #[default(Share(1.0))]
    pub reads: Share,
    /// Bytes in one operation (512 to 16M; whole blocks of the device where `direct`).
    #[default(ByteSize(4 << 10))]
    pub block: ByteSize,
    /// The common size of all threads' data (a block for each thread, to 1T). The data of reads and random writes are written beforehand;
    /// sequential writers begin with an empty file.
    #[default(ByteSize(64 << 20))]
    pub size: ByteSize,
    /// Whether operations go past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// State of the page cache when the load begins.
    pub cache: CacheState,
    /// Touch one byte in each stretch of this size that was read, within the operation's time, as a program does that uses them (64 to 16M; 0 touches
    /// none). `hdparm` touches one of every 512.
    pub touch_every: ByteSize,
    /// Make what was written durable after this number of writes of a thread; 0 never does. The call's time counts as part of the last
    /// write's.
    pub sync_every: u32,
    /// How it is made durable, by `sync_every` and by `sync_at_end`.
    pub sync_by: SyncBy,
    /// Make everything durable at the end, as part of the measured time.
    pub sync_at_end: bool,
    /// How long a thread waits after each operation before it begins the next one in its place.
    pub think: Option<Span>,
    /// How many operations each thread carries out. Give this or `duration`.
    pub operations: Option<u64>,
    /// How long each thread works. Give this or `operations`.
    pub duration: Option<Span>,
    /// Begin operations at a rate, each when it is due, and time each from then on.
    pub open: Option<OpenLoop>,
    /// How long an operation of an open loop may wait for a free place before it counts as an error.
    #[default(Span::secs(30))]
    pub timeout: Span,
    /// Where the random numbers begin; by default somewhere else each time.
    pub seed: Option<u64>,
}

impl StorageLoad {
    /// Whether any of it is written while it is measured.
    pub fn writes(&self) -> bool {
        self.reads.0 < 1.0
    }

    /// How large the part of each thread is: whole blocks, at least one.
    pub fn part_size(&self) -> u64 {
        let each = self.size.0 / u64::from(self.threads.max(1));
        (each / self.block.0.max(1)).max(1) * self.block.0
    }
}

/// How operations are handed to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StorageEngine {
    /// io_uring(7): many at a time, in one call.
    IoUring,
    /// pread(2) and pwrite(2): one after the other.
    #[default]
    Pread,
    /// mmap(2): bytes are copied from and to memory that stands for the file.
    Mmap,
}

/// Which blocks follow one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Each the next one, from the beginning again after the last.
    #[default]
    Sequential,
    /// Each anywhere, all with the same chance.
    Random,
}

/// How what was written is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncBy {
    /// fdatasync(2), or msync(2) of mapped data: the data of the thread's own file.
    #[default]
    Fdatasync,
    /// fsync(2): its times and the like, too.
    Fsync,
    /// syncfs(2): everything on the file system, also what others wrote.
    Syncfs,
    /// sync(2): everything on every file system of the machine.
    Sync,
}

/// State of the page cache when a load begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    /// Nothing.
    #[default]
    AsIs,
    /// The load's data are written back and dropped from the cache.
    Dropped,
    /// The load's data are read once.
    Warmed,
}

impl LoadType for StorageLoad {
    by_count_or_time!(operations);

    fn usual_metric(&self) -> Metric {
        Metric::MegabytesPerSecond
    }

    fn metrics(&self) -> Vec<Metric> {
        let rates = [
            Metric::RequestsPerSecond,
            Metric::CpuUsPerRequest,
            Metric::MegabytesPerSecond,
            Metric::DeviceShare,
        ];
        [&rates[..], LATENCIES].concat()
    }

    fn operations(&self) -> &'static str {
        "operations"
    }

    fn target(&self) -> Target {
        Target::Volume
    }

    fn runs_on_groups(&self) -> bool {
        false
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        at.says_what_it_aims_at()?;
        declared(&at.load.to, &at.experiment.volumes, "volume", path!["loads", at.name, "to"])?;
        let on = &at.experiment.volumes[&at.load.to].on;
        if *on != at.load.from {
            return Err(problem(
                path!["loads", at.name, "from"],
                format!("the volume `{}` is on `{on}`", at.load.to),
                format!("\"{on}\""),
            ));
        }
        check_extent(at, ("operations", self.operations), 1_000_000_000_000, self.duration)?;
        in_range(u64::from(self.threads), 1, 64, at.key("threads"))?;
        in_range(u64::from(self.depth), 1, 1024, at.key("depth"))?;
        in_range(self.block.0, 512, 16 << 20, at.key("block"))?;
        if self.touch_every.0 != 0 {
            in_range(self.touch_every.0, 64, 16 << 20, at.key("touch_every"))?;
        }
        in_range(self.size.0, self.block.0 * u64::from(self.threads), 1 << 40, at.key("size"))?;
        if self.depth > 1 && self.engine != StorageEngine::IoUring {
            return Err(problem(
                at.key("depth"),
                "this engine carries out one operation after the other",
                "1, or `engine = \"io_uring\"`",
            ));
        }
        if self.direct && self.engine == StorageEngine::Mmap {
            return Err(problem(
                at.key("direct"),
                "memory that stands for a file is the page cache",
                "`false`, or another engine",
            ));
        }
        if self.direct && !self.block.0.is_multiple_of(512) {
            return Err(problem(
                at.key("block"),
                "direct operations are of whole blocks of the device",
                "a multiple of 512",
            ));
        }
        let target = &at.experiment.volumes[&at.load.to];
        if self.sync_by == SyncBy::Syncfs && !target.has_files() {
            let expected = "another way, or a volume with files";
            return Err(problem(
                at.key("sync_by"),
                format!("the volume `{}` has no file system", at.load.to),
                expected,
            ));
        }
        match &self.open {
            Some(_) if self.think.is_some() => Err(problem(
                at.key("think"),
                "operations of an open loop begin when they are due",
                "either `think` or `open`",
            )),
            Some(open) => check_open(at, open),
            None => Ok(()),
        }
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let access = match self.access {
            Access::Sequential => "sequential",
            Access::Random => "random",
        };
        let what = match self.reads.0 {
            1.0 => "reads".to_owned(),
            0.0 => "writes".to_owned(),
            _ => format!("{} reads among writes", self.reads),
        };
        let amount = amount(("operations", self.operations), self.duration);
        let threads = count(self.threads, "thread");
        let direct = if self.direct { ", past the page cache" } else { "" };
        format!(
            "{access} {what} of {} in {}, {threads} x {} x {amount}{direct} on {}",
            self.block, self.size, self.depth, at.load.to
        )
    }

    fn effects(&self, at: &LoadPlace<'_>) -> Vec<Effect> {
        let effect = |kind: EffectKind, key: &str, what: String| {
            Effect::new(kind, format!("loads.{}.storage.{key}", at.name), what).on(&at.load.from)
        };
        let device = at.experiment.volumes.get(&at.load.to).and_then(|volume| volume.device.as_ref());
        let written = device.filter(|_| self.writes()).map(|device| {
            let what = format!("{} is overwritten: its contents are lost", word(device));
            effect(EffectKind::Device, "reads", what).needs_root()
        });
        let flushed = flushed(self).map(|what| effect(EffectKind::Machine, "sync_by", what.into()));
        written.into_iter().chain(flushed).collect()
    }
}

/// Whose writes a storage load waits for beside its own.
fn flushed(storage: &StorageLoad) -> Option<&'static str> {
    let flushes = storage.sync_at_end || storage.sync_every > 0;
    match storage.sync_by {
        SyncBy::Sync if flushes => {
            Some("pending writes to every file system are flushed, whichever process made them")
        }
        SyncBy::Syncfs if flushes => {
            Some("pending writes to the volume's file system are flushed, whichever process made them")
        }
        SyncBy::Fdatasync | SyncBy::Fsync | SyncBy::Syncfs | SyncBy::Sync => None,
    }
}

/// Results of a storage load. Its operations are the requests of the result, their bytes its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageFacts {
    /// Operations that read.
    pub reads: u64,
    /// Operations that wrote.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Calls of fdatasync(2).
    pub syncs: u64,
    /// The mean time of an operation, in microseconds.
    pub mean_us: f64,
    /// Operations that took more than 2 s.
    pub over_2s: u64,
    /// Operations that took more than 10 s.
    pub over_10s: u64,
    /// Bytes that the kernel had to fetch from the device for the load's threads (`read_bytes` of `/proc/thread-self/io`), read-ahead
    /// with it; absent where the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_read_bytes: Option<u64>,
}

impl StorageFacts {
    fn operations(&self) -> u64 {
        self.reads + self.writes
    }

    /// The share of the bytes read that the device delivered: at most 1, whatever was read ahead. Absent where nothing was read.
    pub fn device_share(&self) -> Option<f64> {
        let fetched = self.device_read_bytes.filter(|_| self.read_bytes > 0)?;
        Some((fetched as f64 / self.read_bytes as f64).min(1.0))
    }
}

impl FactsType for StorageFacts {
    fn figure(&self, metric: Metric, _seconds: f64) -> Option<f64> {
        match metric {
            Metric::MeanMs => Some(self.mean_us / 1e3),
            Metric::DeviceShare => self.device_share(),
            _ => None,
        }
    }

    fn rate(&self) -> Option<Metric> {
        Some(Metric::MegabytesPerSecond)
    }

    fn is_in_report(&self) -> bool {
        true
    }

    fn measures_its_own_work(&self) -> bool {
        true
    }
}

impl Join for StorageFacts {
    fn join(&mut self, other: &Self) {
        let (mine, theirs) = (self.operations(), other.operations());
        let weighed = self.mean_us * mine as f64 + other.mean_us * theirs as f64;
        *self = Self {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
            syncs: self.syncs + other.syncs,
            mean_us: weighed / (mine + theirs).max(1) as f64,
            over_2s: self.over_2s + other.over_2s,
            over_10s: self.over_10s + other.over_10s,
            device_read_bytes: self.device_read_bytes.zip(other.device_read_bytes).map(|(a, b)| a + b),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_whole_blocks() {
        let load = StorageLoad {
            threads: 3,
            block: ByteSize(4096),
            size: ByteSize(100_000),
            ..StorageLoad::default()
        };
        assert_eq!(load.part_size(), 8 * 4096);
        assert_eq!(StorageLoad { size: ByteSize(1), ..load }.part_size(), 4096);
    }
}
