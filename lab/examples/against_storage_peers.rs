//! Storage loads against fio and hdparm on the same file or device, in turns.
//!
//! ```text
//! against_storage_peers memory FOLDER PAIRS [before=PROGRAMS]
//!                                              operations per CPU second of io_uring at depth 32 on a file in memory, against fio, or
//!                                              against an earlier build in PROGRAMS
//! against_storage_peers device FOLDER PAIRS    the rate of direct random reads of a file at depth 32, against fio
//! against_storage_peers modes FOLDER PAIRS     the rate of every mode, engine and number of threads, against fio
//! against_storage_peers hdparm DEVICE PAIRS    timed reads from cache and device, against hdparm -T and -t
//! ```
//!
//! A pair is both programs one right after the other, in an order that changes with each pair. The ratio of each pair is ours over theirs;
//! the median over pairs stands with the interval of order statistics that holds it with about 95 %.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use plimsoll_model::experiment::{Access, CacheState, StorageEngine, StorageLoad};
use plimsoll_model::frame::{LoadKind, LoadSpec, VolumePlace};
use plimsoll_model::units::{ByteSize, Share, Span};

use plimsoll_lab::load::{Done, cpu_seconds, programs, run};
use plimsoll_lab::pairs::{Outcome, report};
use wait4::Wait4;

/// Duration of each side of a pair.
const LENGTH: Duration = Duration::from_secs(2);
/// Duration of each side against an earlier build: many short pairs show smaller losses than few long ones.
const SHORT: Duration = Duration::from_millis(400);
/// Wait of hdparm between dropping and reading.
const SETTLING: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn compare() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, place, pairs, before @ ..] = &args[..] else {
        return Err("expected: memory|device|modes|hdparm PLACE PAIRS [before=PROGRAMS]".into());
    };
    let (place, pairs) = (Path::new(place), pairs.parse::<usize>()?);
    match what.as_str() {
        "memory" if let [before] = before => {
            let before = before.strip_prefix("before=").ok_or("expected: before=PROGRAMS")?;
            let of = |programs: &Path| {
                let done = run(programs, &spec(place, random_reads(false, CacheState::Warmed, SHORT)))?;
                Ok(done.requests as f64 / done.cpu())
            };
            let (ours, before) = (programs()?, Path::new(before));
            report("before", "cached reads per CPU second", 0, pairs, || of(&ours), || of(before))?;
        }
        "memory" => {
            let ours = || {
                let done = load(place, random_reads(false, CacheState::Warmed, LENGTH))?;
                Ok(done.requests as f64 / done.cpu())
            };
            for (name, batched) in [("fio", false), ("fio, in batches of 32", true)] {
                report(name, "cached reads per CPU second", 0, pairs, ours, || fio_memory(place, batched))?;
            }
        }
        "device" => {
            let ours = || {
                let done = load(place, random_reads(true, CacheState::Dropped, LENGTH))?;
                Ok(done.requests as f64 / done.seconds())
            };
            report("fio", "operations per second", 0, pairs, ours, || Ok(fio(place, true, false)?.iops))?;
        }
        "modes" => modes(place, pairs)?,
        "hdparm" => {
            report("hdparm -T", "MB/s", 0, pairs, || timed(place, true), || hdparm(place, "-T"))?;
            report("hdparm -t", "MB/s", 0, pairs, || timed(place, false), || hdparm(place, "-t"))?;
        }
        other => return Err(format!("`{other}` is nothing to compare").into()),
    }
    Ok(())
}

fn load(place: &Path, load: StorageLoad) -> Outcome<Done> {
    run(&programs()?, &spec(place, load))
}

fn spec(place: &Path, load: StorageLoad) -> LoadSpec {
    LoadSpec {
        name: "load".into(),
        targets: Vec::new(),
        sources: Vec::new(),
        trust: None,
        volume: Some(VolumePlace { name: "place".into(), path: place.into(), writable: place.is_dir() }),
        kind: LoadKind::Storage(load),
    }
}

fn random_reads(direct: bool, cache: CacheState, length: Duration) -> StorageLoad {
    StorageLoad {
        engine: StorageEngine::IoUring,
        depth: 32,
        access: Access::Random,
        block: ByteSize(4096),
        size: ByteSize(256 << 20),
        direct,
        cache,
        duration: Some(Span(length)),
        ..StorageLoad::default()
    }
}

/// Reads and writes, of large and small blocks, buffered and direct, by both engines and one to eight threads.
fn modes(folder: &Path, pairs: usize) -> Outcome<()> {
    for (reads, access, block) in [1.0, 0.0].into_iter().flat_map(|reads| {
        [(Access::Sequential, 2 << 20), (Access::Sequential, 64 << 10), (Access::Random, 4 << 10)]
            .map(|(access, block)| (reads, access, block))
    }) {
        for (direct, engine) in [false, true]
            .into_iter()
            .flat_map(|direct| [StorageEngine::Pread, StorageEngine::IoUring].map(|engine| (direct, engine)))
        {
            for threads in [1, 4, 8] {
                let storage = StorageLoad {
                    threads,
                    engine,
                    access,
                    reads: Share(reads),
                    block: ByteSize(block),
                    size: ByteSize(256 << 20),
                    direct,
                    cache: if reads > 0.0 && !direct { CacheState::Warmed } else { CacheState::AsIs },
                    duration: Some(Span(LENGTH)),
                    ..StorageLoad::default()
                };
                println!(
                    "reads = {reads}, {access:?}, {block} bytes, direct = {direct}, {engine:?}, {threads} threads"
                );
                let ours = || {
                    let done = load(folder, storage.clone())?;
                    Ok(done.bytes as f64 / 1e6 / done.seconds())
                };
                report("fio", "MB/s", 0, pairs, ours, || fio_mode(folder, &storage))?;
            }
        }
    }
    Ok(())
}

/// fio in the same mode on the same files. Its memory stands on whole pages as well: fio's own default does not, and copies at half the
/// rate. Sequential writers begin with empty files, as the storage load has them.
fn fio_mode(folder: &Path, load: &StorageLoad) -> Outcome<f64> {
    let (is_random, side) = (load.access == Access::Random, if load.writes() { "write" } else { "read" });
    if load.writes() && !is_random {
        (0..load.threads).try_for_each(|nth| std::fs::remove_file(folder.join(format!("part-{nth}"))))?;
    }
    let mut command = Command::new("fio");
    command.args(["--name=peer", "--thread", "--group_reporting", "--norandommap=1", "--randrepeat=0"]);
    command.args([
        "--mem=mmap",
        "--fallocate=none",
        "--invalidate=0",
        "--time_based",
        "--output-format=json",
    ]);
    match load.engine {
        StorageEngine::IoUring => command.args(["--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1"]),
        StorageEngine::Pread | StorageEngine::Mmap => command.arg("--ioengine=psync"),
    };
    command.arg(format!("--rw={}{side}", if is_random { "rand" } else { "" }));
    command.arg(format!("--bs={}", load.block.0)).arg(format!("--size={}", load.part_size()));
    command.arg(format!("--numjobs={}", load.threads)).arg(format!("--direct={}", u8::from(load.direct)));
    command.arg(format!("--runtime={}", LENGTH.as_secs())).arg("--filename_format=part-$jobnum");
    let output = command.arg(format!("--directory={}", folder.display())).output()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    Ok(report["jobs"][0][side]["bw_bytes"].as_f64().ok_or("fio's report lacks a rate")? / 1e6)
}

struct Fio {
    iops: f64,
    /// Operations per second of CPU time, with all of its processes and the kernel's helpers: `usr_cpu` and `sys_cpu` leave these out.
    per_cpu_second: f64,
}

fn fio_memory(folder: &Path, batched: bool) -> Outcome<f64> {
    Ok(fio(folder, false, batched)?.per_cpu_second)
}

/// fio on the file of the storage load, with registered file and memory and without a map of read blocks, like the storage load.
fn fio(folder: &Path, direct: bool, batched: bool) -> Outcome<Fio> {
    let file: PathBuf = folder.join("part-0");
    let mut command = Command::new("fio");
    command.args(["--name=peer", "--ioengine=io_uring", "--iodepth=32", "--rw=randread", "--bs=4k"]);
    command.args(["--fixedbufs=1", "--registerfiles=1", "--norandommap=1", "--time_based", "--size=256M"]);
    command.args(["--output-format=json", "--invalidate=0"]);
    command.arg(format!("--runtime={}", LENGTH.as_secs())).arg(format!("--direct={}", u8::from(direct)));
    command.arg(format!("--filename={}", file.display()));
    if batched {
        command.args([
            "--iodepth_batch_submit=32",
            "--iodepth_batch_complete_min=1",
            "--iodepth_batch_complete_max=32",
        ]);
    }
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut printed = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut printed)?;
    let cpu = cpu_seconds(&child.wait4()?);
    let report: serde_json::Value = serde_json::from_str(&printed)?;
    let read = &report["jobs"][0]["read"];
    let number = |name: &str| read[name].as_f64().ok_or("fio's report lacks a number");
    Ok(Fio { iops: number("iops")?, per_cpu_second: number("total_ios")? / cpu })
}

/// Reads of 2 MiB: the same ones again and again, or those that follow one another up to the device's end, in units of 2^20 bytes per second
/// as hdparm prints them. hdparm waits before it reads what it has dropped from the page cache; meanwhile a guest may have given the
/// memory back to its hypervisor, and then has to ask for it again within the measured time (`mm/page_reporting.c`).
fn timed(device: &Path, cached: bool) -> Outcome<f64> {
    let mut file = File::open(device)?;
    let blocks = file.seek(SeekFrom::End(0))? >> 21;
    if !cached {
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
        std::thread::sleep(SETTLING);
    }
    let storage = StorageLoad {
        block: ByteSize(2 << 20),
        size: ByteSize(if cached { 2 << 20 } else { blocks << 21 }),
        cache: if cached { CacheState::Warmed } else { CacheState::AsIs },
        touch_every: ByteSize(512),
        duration: cached.then_some(Span(LENGTH)),
        operations: (!cached).then_some(blocks),
        ..StorageLoad::default()
    };
    let done = load(device, storage)?;
    Ok(done.bytes as f64 / done.seconds() / f64::from(1 << 20))
}

fn hdparm(device: &Path, what: &str) -> Outcome<f64> {
    let output = Command::new("hdparm").arg(what).arg(device).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rate = text.split('=').nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    rate.ok_or_else(|| format!("hdparm said {text}{}", String::from_utf8_lossy(&output.stderr)).into())
}
