//! The files of a control group that the user named, of version 2 or of the hierarchies of version 1 (Documentation/admin-guide/cgroup-v1 in the
//! kernel). What both versions count has one name: that of version 2.

use std::path::{Path, PathBuf};

use super::machine;
use super::network;
use super::source::{Parser, Source, Tier};
use super::table::{Rows, Table};
use super::text::{decimal, lines, words};

/// Nanoseconds in a microsecond.
const NS: f64 = 1000.0;

/// Files to read of a group with these folders: one, or one in each hierarchy.
pub(super) fn sources(folders: &[PathBuf]) -> Vec<Source> {
    folders.iter().flat_map(|folder| of_folder(folder)).collect()
}

fn of_folder(folder: &Path) -> Vec<Source> {
    let files: [(&str, Parser); 10] = [
        ("cpu.stat", Box::new(machine::pairs("cgroup.cpu."))),
        ("cpuacct.usage", Box::new(cpuacct)),
        ("memory.events", Box::new(machine::pairs("cgroup.memory."))),
        ("memory.current", Box::new(network::setting("cgroup.memory.current"))),
        ("memory.usage_in_bytes", Box::new(network::setting("cgroup.memory.current"))),
        ("io.stat", Box::new(io_stat)),
        ("blkio.throttle.io_service_bytes_recursive", Box::new(blkio)),
        ("cpu.pressure", Box::new(machine::pressure_of("cgroup.pressure.cpu"))),
        ("memory.pressure", Box::new(machine::pressure_of("cgroup.pressure.memory"))),
        ("io.pressure", Box::new(machine::pressure_of("cgroup.pressure.io"))),
    ];
    let why = "the control group lacks this controller, or has the other version";
    let source = |(file, parse)| Source::new(folder.join(file), Tier::Slow, Some(why), parse);
    files.into_iter().map(source).collect()
}

/// `cpuacct.usage`: nanoseconds of all CPUs.
fn cpuacct(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    let used = words(text).next().and_then(decimal).map(|ns| ns / NS);
    rows.set(table, b"", || vec!["cgroup.cpu.usage_usec".to_owned()], std::iter::once(used));
}

/// `io.stat`: `8:0 rbytes=1 wbytes=2 rios=3 ...`, a line for each device.
fn io_stat(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    let of = |word: &[u8], key: &[u8]| word.strip_prefix(key).and_then(decimal).unwrap_or(0.0);
    let sum = |key: &[u8]| lines(text).flat_map(words).map(|word| of(word, key)).sum();
    io(rows, table, sum(b"rbytes="), sum(b"wbytes="));
}

/// `blkio.throttle.io_service_bytes_recursive`: `8:0 Read 1`, `8:0 Write 2`, for each device.
fn blkio(rows: &mut Rows, table: &mut Table, text: &[u8]) {
    let sum = |way: &[u8]| -> f64 {
        let of_line = |line: &[u8]| {
            let mut words = words(line).skip(1);
            (words.next() == Some(way)).then(|| words.next().and_then(decimal))?
        };
        lines(text).filter_map(of_line).sum()
    };
    io(rows, table, sum(b"Read"), sum(b"Write"));
}

fn io(rows: &mut Rows, table: &mut Table, read: f64, written: f64) {
    let names = || ["read", "written"].map(|way| format!("cgroup.io.{way}_bytes")).to_vec();
    rows.set(table, b"", names, [Some(read), Some(written)].into_iter());
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::{Counters, Depth};

    /// Counters of a group with these files, each in a folder of its own.
    fn read(files: &[(&str, &str)]) -> Vec<(String, f64)> {
        let root = tempfile::tempdir().unwrap();
        let folders: Vec<_> =
            files.iter().enumerate().map(|(n, _)| root.path().join(n.to_string())).collect();
        for ((file, text), folder) in files.iter().zip(&folders) {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
        }
        let values = Counters::open_with_group(Path::new("/"), &folders).unwrap().read(Depth::Light).values;
        values.into_iter().filter(|(name, _)| name.starts_with("cgroup.")).collect()
    }

    #[test]
    fn both_versions_count_the_same_under_the_same_names() {
        let first = read(&[
            ("cpuacct.usage", "1500000\n"),
            ("memory.usage_in_bytes", "4096\n"),
            (
                "blkio.throttle.io_service_bytes_recursive",
                "8:0 Read 10\n8:0 Write 5\n8:16 Read 1\n8:16 Write 0\nTotal 16\n",
            ),
        ]);
        let second = read(&[
            ("cpu.stat", "usage_usec 1500\n"),
            ("memory.current", "4096\n"),
            (
                "io.stat",
                "8:0 rbytes=10 wbytes=5 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=0 rios=1\n",
            ),
        ]);
        let named = |name: &str, value| (name.to_owned(), value);
        let expected = [
            named("cgroup.cpu.usage_usec", 1500.0),
            named("cgroup.io.read_bytes", 11.0),
            named("cgroup.io.written_bytes", 5.0),
            named("cgroup.memory.current", 4096.0),
        ];
        assert_eq!(first, expected);
        assert_eq!(second, expected);
    }
}
