use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_model::experiment::open_loop::OpenLoop;
use plimsoll_model::experiment::{Access, CacheState, StorageEngine, StorageLoad};
use plimsoll_model::frame::{Failure, LoadKind, LoadSpec, VolumePlace};
use plimsoll_model::observation::{LoadResult, StorageFacts};
use plimsoll_model::units::{ByteSize, Share, Span};

use crate::Control;

const ENGINES: [StorageEngine; 3] = [StorageEngine::Pread, StorageEngine::IoUring, StorageEngine::Mmap];

fn try_on(folder: &Path, load: StorageLoad) -> Result<LoadResult, Failure> {
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_millis(50) };
    let spec = LoadSpec {
        name: "load".into(),
        targets: Vec::new(),
        sources: Vec::new(),
        trust: None,
        volume: Some(VolumePlace { name: "disk".into(), path: folder.into(), writable: true }),
        kind: LoadKind::Storage(load),
    };
    crate::run(&spec, &control)
}

fn on(folder: &Path, load: StorageLoad) -> LoadResult {
    try_on(folder, load).unwrap()
}

fn small() -> StorageLoad {
    StorageLoad { size: ByteSize(1 << 20), operations: Some(256), ..StorageLoad::default() }
}

#[test]
fn every_engine_reads_and_writes_what_its_load_says() {
    for engine in ENGINES {
        for (reads, access) in [(1.0, Access::Sequential), (0.0, Access::Random), (0.5, Access::Random)] {
            let folder = tempfile::tempdir().unwrap();
            let touch_every = ByteSize(512);
            let load =
                StorageLoad { engine, threads: 2, reads: Share(reads), access, touch_every, ..small() };
            let result = on(folder.path(), load);
            let facts = *result.found::<StorageFacts>().unwrap();
            assert_eq!((result.requests, result.failed(), result.bytes), (512, 0, 512 * 4096), "{engine:?}");
            assert_eq!(facts.reads + facts.writes, 512);
            assert_eq!(facts.read_bytes + facts.written_bytes, result.bytes);
            let expected =
                if reads == 0.5 { 150..=360 } else { (512.0 * reads) as u64..=(512.0 * reads) as u64 };
            assert!(expected.contains(&facts.reads), "{engine:?} {facts:?}");
            assert!(facts.mean_us > 0.0 && facts.over_2s == 0);
        }
    }
}

#[test]
fn many_operations_are_under_way_at_a_time_on_a_ring() {
    let folder = tempfile::tempdir().unwrap();
    let load = StorageLoad {
        engine: StorageEngine::IoUring,
        depth: 32,
        reads: Share(0.5),
        access: Access::Random,
        operations: Some(5_000),
        sync_every: 100,
        ..small()
    };
    let result = on(folder.path(), load);
    assert_eq!((result.requests, result.failed()), (5_000, 0));
    let facts = *result.found::<StorageFacts>().unwrap();
    assert_eq!(facts.syncs, facts.writes / 100);
}

/// 512 bytes are the smallest that any device looks at.
#[test]
fn what_is_written_is_never_the_same_twice_and_has_no_pattern() {
    for engine in ENGINES {
        let folder = tempfile::tempdir().unwrap();
        on(folder.path(), StorageLoad { engine, reads: Share(0.0), ..small() });
        let bytes = fs::read(folder.path().join("part-0")).unwrap();
        assert_eq!(bytes.len(), 1 << 20);
        let sectors: std::collections::BTreeSet<&[u8]> = bytes.chunks(512).collect();
        assert_eq!(sectors.len(), 2048, "{engine:?}");
        let pieces: std::collections::BTreeSet<&[u8]> = bytes[..256 << 10].chunks(64).skip(1).collect();
        assert_eq!(
            pieces.len(),
            (4 << 10) - 1,
            "{engine:?}: nothing comes again within what a file system compresses in one piece"
        );
        let mut counts = [0_u32; 256];
        bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        // 4096 of each are expected, with a standard deviation of 64.
        assert!(counts.iter().all(|count| (3_500..4_700).contains(count)), "{engine:?}");
    }
}

#[test]
fn a_closed_loop_that_thinks_does_little() {
    let folder = tempfile::tempdir().unwrap();
    let load = StorageLoad {
        think: Some(Span::millis(10)),
        operations: None,
        duration: Some(Span::millis(300)),
        ..small()
    };
    let result = on(folder.path(), load);
    assert!((5..=31).contains(&result.requests), "{}", result.requests);
}

#[test]
fn an_open_loop_begins_operations_at_its_rate_and_counts_from_then() {
    for (engine, depth) in [(StorageEngine::Pread, 1), (StorageEngine::IoUring, 8)] {
        let folder = tempfile::tempdir().unwrap();
        let open = OpenLoop { rate: 500.0, ..OpenLoop::default() };
        let load = StorageLoad {
            engine,
            depth,
            threads: 2,
            open: Some(open),
            operations: None,
            duration: Some(Span::millis(400)),
            ..small()
        };
        let result = on(folder.path(), load);
        assert_eq!((result.requests, result.offer.unwrap().due), (200, 200), "{engine:?}");
    }
}

#[test]
fn the_same_file_serves_one_load_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    on(folder.path(), StorageLoad { reads: Share(0.0), ..small() });
    let before = fs::read(folder.path().join("part-0")).unwrap();
    on(folder.path(), StorageLoad { cache: CacheState::Dropped, ..small() });
    assert!(before == fs::read(folder.path().join("part-0")).unwrap(), "reading changes nothing");
}

#[test]
fn a_file_that_ends_early_is_an_input_output_error_by_every_engine() {
    for engine in ENGINES {
        let folder = tempfile::tempdir().unwrap();
        on(folder.path(), StorageLoad { engine, ..small() });
        // Longer than the load needs, so that it is not laid out again; its end is then a hole in the device's stead.
        let load = StorageLoad {
            engine,
            operations: None,
            duration: Some(Span::secs(20)),
            think: Some(Span::millis(2)),
            ..small()
        };
        let path = folder.path().join("part-0");
        let found = std::thread::scope(|scope| {
            let found = scope.spawn(|| try_on(folder.path(), load));
            std::thread::sleep(Duration::from_millis(150));
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
            found.join().unwrap()
        });
        let error = found.unwrap_err().to_string();
        assert!(error.contains("the volume `disk`: its device cannot read or write"), "{engine:?}: {error}");
    }
}

#[test]
fn a_volume_that_is_not_there_is_named() {
    let error = try_on(Path::new("/nonexistent/volume"), small()).unwrap_err().to_string();
    assert!(error.contains("find the volume `disk`"), "{error}");
}
