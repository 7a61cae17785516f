//! Settings of one process: environment, arguments, libraries, name servers, limits and control groups.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::pipe::fcntl_getpipe_size;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::shortened;
use crate::small_file;

/// Parts of names and values that mark a secret.
const SECRET: [&str; 7] = ["PASS", "TOKEN", "SECRET", "KEY", "AUTH", "CREDENTIAL", "COOKIE"];
/// Variables that a shell keeps for itself.
const OF_SHELLS: [&str; 4] = ["_", "PWD", "OLDPWD", "SHLVL"];
/// The configuration of a process's resolver, and the most that is read of it, in bytes.
const RESOLVER: &str = "etc/resolv.conf";
const LONGEST_RESOLVER: u64 = 64 << 10;
/// The most open files of a process that are looked at for pipes.
const MOST_PIPES: usize = 32;
/// The most arguments of a process.
const MOST_ARGUMENTS: usize = 40;
/// Files of control groups that limit or weigh, of both versions (Documentation/admin-guide/cgroup-v1, cgroup-v2.rst).
const LIMITS: [&str; 19] = [
    "cpu.shares",
    "cpu.cfs_quota_us",
    "cpu.max",
    "cpu.weight",
    "cpuset.cpus",
    "cpuset.mems",
    "memory.limit_in_bytes",
    "memory.soft_limit_in_bytes",
    "memory.swappiness",
    "memory.high",
    "memory.max",
    "pids.max",
    "blkio.weight",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
    "io.max",
    "io.weight",
];

/// The settings of a process, as far as they may be read.
#[must_use]
pub fn of_process(root: &Path, pid: u32) -> BTreeSet<String> {
    let folder = root.join("proc").join(pid.to_string());
    let mut found = BTreeSet::new();
    found.extend(environment(&fs::read(folder.join("environ")).unwrap_or_default()));
    found.extend(arguments(&fs::read(folder.join("cmdline")).unwrap_or_default()));
    found.extend(libraries(&fs::read_to_string(folder.join("maps")).unwrap_or_default()));
    found.extend(limits(&small_file::text(&folder.join("limits")).unwrap_or_default()));
    let resolver = resolver(&folder.join("root")).unwrap_or_default();
    let lines = resolver.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with(['#', ';']));
    found.extend(lines.map(|line| shortened(&format!("resolv.conf {line}"))));
    found.extend(pipe_sizes(&folder, pid).into_iter().map(|bytes| format!("pipe_size={bytes}")));
    let groups = small_file::text(&folder.join("cgroup")).unwrap_or_default();
    found.extend(groups.lines().flat_map(|line| of_group(root, line)));
    found
}

/// The resolver's configuration as a process sees it. Symbolic links resolve inside the process's root, and opening a FIFO does not block.
fn resolver(root: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let file = File::from(openat2(File::open(root).ok()?, RESOLVER, flags, Mode::empty(), inside).ok()?);
    let mut text = String::new();
    file.metadata().ok()?.is_file().then_some(())?;
    file.take(LONGEST_RESOLVER).read_to_string(&mut text).ok()?;
    Some(text)
}

/// How many bytes the pipes of a process hold. A user who has many pipes open gets small ones (fs.pipe-user-pages-soft, pipe(7)).
fn pipe_sizes(folder: &Path, pid: u32) -> BTreeSet<usize> {
    let entries = fs::read_dir(folder.join("fd")).into_iter().flatten().take(MOST_PIPES).flatten();
    let is_pipe = |path: &Path| fs::read_link(path).is_ok_and(|it| it.to_string_lossy().starts_with("pipe:"));
    let mut pipes = entries.filter(|entry| is_pipe(&entry.path())).peekable();
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).filter(|_| pipes.peek().is_some());
    let Some(process) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return BTreeSet::new();
    };
    // Each copy of a descriptor closes at once, so that the other end of its pipe still sees the end of file.
    let size = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        fcntl_getpipe_size(pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok()?).ok()
    };
    pipes.filter_map(size).collect()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes
        .split(|byte| *byte == 0)
        .filter(|it| !it.is_empty())
        .map(|it| String::from_utf8_lossy(it).into_owned())
}

/// Whether a text speaks of a secret, or is an address with a user in it (RFC 3986, section 3.2.1).
fn is_secret(text: &str) -> bool {
    let has_user = text.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    let upper = text.to_ascii_uppercase();
    has_user || SECRET.iter().any(|part| upper.contains(part))
}

fn environment(bytes: &[u8]) -> BTreeSet<String> {
    let is_shown = |text: &String| {
        let name = text.split('=').next().unwrap_or_default();
        !OF_SHELLS.contains(&name) && !is_secret(text)
    };
    words(bytes).filter(is_shown).map(|text| shortened(&text)).collect()
}

/// The arguments, an option with its value, without a secret and what follows an option that asks for one.
fn arguments(bytes: &[u8]) -> BTreeSet<String> {
    let words: Vec<String> = words(bytes).skip(1).take(MOST_ARGUMENTS).collect();
    let mut found = BTreeSet::new();
    let mut rest = words.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        let takes_value = word.starts_with('-') && !word.contains('=');
        // A path may well be what the program works on, after an option without a value. What may be a secret's value is hidden with it.
        let is_value = |next: &str| is_secret(word) || !next.starts_with('-') && !next.contains('/');
        let value = rest.next_if(|next| takes_value && is_value(next));
        let text = value.map_or_else(|| word.to_owned(), |value| format!("{word} {value}"));
        if !is_secret(&text) {
            found.insert(shortened(&format!("argument {text}")));
        }
    }
    found
}

/// Libraries, and tables of a locale, which `sort` and others compare by.
fn libraries(maps: &str) -> BTreeSet<String> {
    let mapped = maps.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (_, rights, path) = (fields.next()?, fields.next()?, fields.nth(3)?);
        let kind = match path.rsplit('/').next()? {
            "locale-archive" => "locale",
            name if name.starts_with("LC_COLLATE") || name.starts_with("LC_CTYPE") => "locale",
            name if rights.contains('x') && name.contains(".so") => "library",
            _ => return None,
        };
        Some(format!("{kind} {path}"))
    });
    mapped.collect()
}

/// The limits that a process runs into (proc_pid_limits(5)): the soft ones.
fn limits(text: &str) -> BTreeSet<String> {
    let soft = text.lines().skip(1).filter_map(|line| {
        // The name takes 26 columns.
        let (name, values) = line.split_at_checked(26)?;
        Some(format!("limit {} {}", name.trim(), values.split_ascii_whitespace().next()?))
    });
    soft.collect()
}

/// The limits of the control group in a line of `/proc/PID/cgroup`: `4:memory:/some/group`.
fn of_group(root: &Path, line: &str) -> BTreeSet<String> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return BTreeSet::new() };
    let folder = root.join("sys/fs/cgroup").join(controllers).join(path.trim_start_matches('/'));
    let of_controller = |file: &&&str| {
        controllers.is_empty() || controllers.split(',').any(|it| file.split('.').next() == Some(it))
    };
    let found = LIMITS.iter().filter(of_controller).filter_map(|file| {
        let text = small_file::text(&folder.join(file)).ok()?;
        let text: Vec<&str> = text.split_whitespace().collect();
        Some(shortened(&format!("{file} {}", text.join(" "))))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn all(found: BTreeSet<String>) -> Vec<String> {
        found.into_iter().collect()
    }

    #[test]
    fn secrets_and_what_a_shell_counts_are_left_out() {
        let text = b"LC_ALL=C\0SHLVL=2\0DB=postgres://me:hush@db/x\0DB_PASSWORD=hush\0api_token=x\0GOGC=5\0";
        assert_eq!(all(environment(text)), ["GOGC=5", "LC_ALL=C"]);
        let text = b"sort\0-u\0--password\0hu/sh\0--token=x\0-S\0big\0-c\0a/b\0";
        assert_eq!(all(arguments(text)), ["argument -S big", "argument -c", "argument -u", "argument a/b"]);
    }

    #[test]
    fn pipes_have_their_size_and_stay_closed_where_they_were() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        rustix::pipe::fcntl_setpipe_size(&writer, 8192).unwrap();
        let mut child = Command::new("sleep").arg("30").stdin(reader).spawn().unwrap();
        let folder = Path::new("/proc").join(child.id().to_string());
        assert!(pipe_sizes(&folder, child.id()).contains(&8192));
        child.kill().unwrap();
        child.wait().unwrap();
        let error = rustix::io::write(&writer, b"x").unwrap_err();
        assert_eq!(error, rustix::io::Errno::PIPE, "the reading end is closed");
        assert!(pipe_sizes(&folder, child.id()).is_empty());
    }

    #[test]
    fn the_resolver_is_read_inside_the_root_of_the_process_alone() {
        let outer = tempfile::tempdir().unwrap();
        let (root, file) = (outer.path().join("root"), outer.path().join("root").join(RESOLVER));
        fs::create_dir_all(root.join("etc")).unwrap();
        fs::write(outer.path().join("outside"), "nameserver 192.0.2.1\n").unwrap();
        let points_at = |target: &Path| {
            let _ = fs::remove_file(&file);
            std::os::unix::fs::symlink(target, &file).unwrap();
            resolver(&root)
        };
        assert_eq!(points_at(Path::new("../../outside")), None);
        assert_eq!(points_at(&outer.path().join("outside")), None);
        fs::write(root.join("inside"), "nameserver 192.0.2.2\n").unwrap();
        assert_eq!(points_at(Path::new("/inside")).as_deref(), Some("nameserver 192.0.2.2\n"));
        fs::remove_file(&file).unwrap();
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(resolver(&root), None);
    }

    #[test]
    fn libraries_and_tables_of_locales_are_found_among_what_is_mapped() {
        let maps = "55d0-55d1 r-xp 0 fe:00 1 /usr/bin/sort\n\
                    7f00-7f01 r--p 0 fe:00 2 /usr/lib/locale/locale-archive\n\
                    7f02-7f03 r-xp 0 fe:00 3 /usr/lib/libc.so.6\n\
                    7f04-7f05 r--p 0 fe:00 3 /usr/lib/libc.so.6\n\
                    7f06-7f07 rw-p 0 00:00 0\n";
        assert_eq!(
            all(libraries(maps)),
            ["library /usr/lib/libc.so.6", "locale /usr/lib/locale/locale-archive"]
        );
    }

    #[test]
    fn soft_limits_are_read_by_their_names() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            256                  4096                 files     \n";
        assert_eq!(all(limits(text)), ["limit Max open files 256"]);
    }

    #[test]
    fn limits_of_a_group_are_those_of_its_controllers() {
        let root = tempfile::tempdir().unwrap();
        for (file, value) in
            [("cpu/slow/cpu.shares", "20\n"), ("cpu/slow/memory.max", "1\n"), ("web/pids.max", "7\n")]
        {
            let path = root.path().join("sys/fs/cgroup").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, value).unwrap();
        }
        assert_eq!(all(of_group(root.path(), "3:cpu:/slow")), ["cpu.shares 20"]);
        assert_eq!(all(of_group(root.path(), "0::/web")), ["pids.max 7"]);
    }

    #[test]
    fn this_process_has_libraries_and_limits() {
        let own = of_process(Path::new("/"), std::process::id());
        for start in ["library ", "limit Max open files "] {
            assert!(own.iter().any(|it| it.starts_with(start)), "{start}: {own:?}");
        }
    }
}
