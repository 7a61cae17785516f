//! Rows of storage loads: each kind of load, and each I/O scheduler, beside fio with the same one.

use super::{Row, Side, side};

/// A load: what fio calls it, its block, threads, fio's engine, depth, and whether it goes past the page cache.
type Load = (&'static str, &'static str, u32, &'static str, u32, bool);

/// Reads and writes, in order and at random, buffered and direct, by both engines and one to eight threads.
const LOADS: [Load; 16] = [
    ("read", "64k", 1, "psync", 1, false),
    ("read", "64k", 8, "io_uring", 8, false),
    ("read", "64k", 8, "psync", 1, true),
    ("read", "64k", 2, "io_uring", 8, true),
    ("randread", "4k", 1, "psync", 1, false),
    ("randread", "4k", 8, "io_uring", 8, false),
    ("randread", "4k", 8, "psync", 1, true),
    ("randread", "4k", 2, "io_uring", 8, true),
    ("write", "64k", 1, "psync", 1, false),
    ("write", "64k", 8, "io_uring", 8, false),
    ("write", "64k", 8, "psync", 1, true),
    ("write", "64k", 2, "io_uring", 8, true),
    ("randwrite", "4k", 1, "psync", 1, false),
    ("randwrite", "4k", 8, "io_uring", 8, false),
    ("randwrite", "4k", 8, "psync", 1, true),
    ("randwrite", "4k", 2, "io_uring", 8, true),
];

const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

pub(super) fn rows() -> impl Iterator<Item = Row> {
    let swept = SCHEDULERS.into_iter().flat_map(|scheduler| [1, 8].map(|threads| (scheduler, threads)));
    LOADS.into_iter().map(mode).chain(swept.map(|(scheduler, threads)| scheduled(scheduler, threads)))
}

fn mode((kind, block, threads, engine, depth, direct): Load) -> Row {
    let own_engine = if engine == "psync" { "pread" } else { engine };
    let mut settings = format!(" block={block}");
    // What differs from the defaults of a storage load.
    for (differs, setting) in [
        (kind.starts_with("rand"), "access=random".to_owned()),
        (kind.ends_with("write"), "reads=0".to_owned()),
        (direct, "direct=true".to_owned()),
        (threads > 1, format!("threads={threads}")),
        (engine != "psync", format!("engine={engine} depth={depth}")),
    ] {
        if differs {
            settings.push(' ');
            settings.push_str(&setting);
        }
    }
    let settings = settings.replace(' ', " --set loads.work.storage.");
    let passing = if direct { "direct" } else { "buffered" };
    Row {
        name: format!("storage: {kind} of {block}, {passing}, {own_engine}, {}", counted(threads)).into(),
        unit: "1/s",
        ours: rate(format!("plimsoll run xtask/rows/modes.toml{settings}")),
        peer: fio(&format!("{kind} {block} {threads} {engine} {depth} {}", u8::from(direct))),
        by: "fio",
    }
}

fn scheduled(scheduler: &str, threads: u32) -> Row {
    Row {
        name: format!("scheduler {scheduler} of a loop device: random reads of 4k, {}", counted(threads))
            .into(),
        unit: "1/s",
        ours: rate(format!(
            "plimsoll run xtask/rows/schedulers.toml --set volumes.disk.queue.scheduler={scheduler} --set loads.work.storage.threads={threads}"
        )),
        peer: fio(&format!("randread 4k {threads} psync 1 1 {scheduler}")),
        by: "fio",
    }
}

fn counted(threads: u32) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

fn rate(command: String) -> Side {
    side(command, "/trials/0/phases/0/figures/requests_per_second")
}

fn fio(load: &str) -> Side {
    side(format!("sh xtask/rows/fio.sh {load}"), "operations_per_second")
}
