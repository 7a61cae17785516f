//! Names of functions that a program has compiled while it runs: those that runtimes write to `/tmp/perf-PID.map` (Linux,
//! tools/perf/Documentation/jit-interface.txt), one on each line: where it begins, how long it is, both in hexadecimal, and its name.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::files::open_safely;

/// The most that is read of a map, in bytes.
const LARGEST: u64 = 64 << 20;

/// The map of a process, by the id that it has itself, in the file system that it sees.
pub(super) fn map_of(pid: u32) -> PathBuf {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let own = status.lines().find_map(|line| line.strip_prefix("NSpid:")?.split_ascii_whitespace().last());
    let own = own.and_then(|id| id.parse().ok()).unwrap_or(pid);
    PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{own}.map"))
}

/// Whether a file is such a map.
pub(super) fn is_map(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let number = name.strip_prefix("perf-").and_then(|rest| rest.strip_suffix(".map"));
    number.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Libraries and programs that compile while they run and write no map, by how their files begin, and what they compile.
const COMPILERS: [(&str, &str); 6] = [
    ("libpcre2-", "regular expression"),
    ("libpcre.", "regular expression"),
    ("libluajit", "Lua"),
    ("libLLVM", "query or shader"),
    ("libjvm.", "Java"),
    ("node", "JavaScript"),
];

/// What code without a name is called in a program that does little else than run what it has compiled.
pub(super) fn compiled_in(program: &str) -> Option<&'static str> {
    match program {
        "java" => Some("[compiled Java]"),
        "node" => Some("[compiled JavaScript]"),
        "luajit" => Some("[compiled Lua]"),
        _ => None,
    }
}

/// Functions that run those of a map for CPython (Python/perf_trampoline.c, Python/ceval.c, Objects/call.c): what they use is used by the function that is run.
const INTERPRETERS: [&str; 4] =
    ["_PyEval_EvalFrameDefault", "_PyEval_Vector", "_PyFunction_Vectorcall", "py_trampoline_evaluator"];

/// Whether a function only runs those of a map.
pub(super) fn interprets(function: &str) -> bool {
    INTERPRETERS.contains(&function)
}

/// The names of a map, by where the functions begin, with where they end.
#[derive(Debug, Default)]
pub(super) struct JitMap {
    functions: BTreeMap<u64, (u64, String)>,
    read: u64,
    /// What code without a name is called, where that was asked.
    nameless: Option<Option<String>>,
}

impl JitMap {
    /// What code without a name is called, by the library of the process that compiles; `None` if none is known.
    pub(super) fn nameless(&mut self, file: &Path) -> Option<&str> {
        let root = file.ancestors().find(|above| above.ends_with("root"));
        let ask = || compiled_by(&fs::read_to_string(root?.with_file_name("maps")).ok()?);
        self.nameless.get_or_insert_with(ask).as_deref()
    }

    /// The name of the function at an address. A map grows while its program runs: it is read again where it has.
    pub(super) fn name(&mut self, file: &Path, address: u64, is_of_the_run: bool) -> Option<&str> {
        if self.find(address).is_none() {
            self.read_again(file, is_of_the_run);
        }
        self.find(address)
    }

    fn find(&self, address: u64) -> Option<&str> {
        let (_, (end, name)) = self.functions.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }

    fn read_again(&mut self, file: &Path, is_of_the_run: bool) {
        let opened = open_safely(file, is_of_the_run);
        let Some((opened, length)) = opened.or_else(|| open_safely(&left_behind(file)?, is_of_the_run))
        else {
            return;
        };
        if length == self.read {
            return;
        }
        let mut bytes = Vec::new();
        // What cannot be read has no names.
        let _ = opened.take(LARGEST).read_to_end(&mut bytes);
        self.read = length;
        self.functions.extend(parse(&String::from_utf8_lossy(&bytes)));
    }
}

/// What a process compiles, by the libraries of its maps.
fn compiled_by(maps: &str) -> Option<String> {
    let mut files = maps.lines().filter_map(|line| line.rsplit_once('/').map(|(_, file)| file));
    files.find_map(|file| {
        let (_, what) = COMPILERS.iter().find(|(start, _)| file.starts_with(start))?;
        Some(format!("[compiled {what}, {file}]"))
    })
}

/// The map of a process that has ended, where it had this file system and the id that we know.
fn left_behind(file: &Path) -> Option<PathBuf> {
    let (pid, map) = file.to_str()?.strip_prefix("/proc/")?.split_once("/root")?;
    (!Path::new("/proc").join(pid).exists() && map == format!("/tmp/perf-{pid}.map")).then(|| map.into())
}

/// The name of a function as its author wrote it: CPython's has its language and its file around it.
fn as_written(name: &str) -> &str {
    let python = name.strip_prefix("py::").and_then(|rest| rest.split_once(':'));
    python.map_or(name, |(function, _)| function)
}

fn parse(text: &str) -> impl Iterator<Item = (u64, (u64, String))> {
    text.lines().filter_map(|line| {
        let mut words = line.trim().splitn(3, ' ');
        let mut number = || {
            let word = words.next()?;
            u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
        };
        let (start, size) = (number()?, number()?);
        Some((start, (start.checked_add(size)?, as_written(words.next()?.trim()).to_owned())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_any_of_their_addresses_also_those_that_come_later() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("perf-7.map");
        fs::write(&file, "7f00 20 LazyCompile:~answer /app.js:1\n0x8000 10 stub\nnonsense\n").unwrap();
        let mut map = JitMap::default();
        assert_eq!(map.name(&file, 0x7f1f, true), Some("LazyCompile:~answer /app.js:1"));
        assert_eq!(map.name(&file, 0x7f20, true), None);
        assert_eq!(map.name(&file, 0x8000, true), Some("stub"));
        let mut grown = fs::read_to_string(&file).unwrap();
        grown.push_str("9000 40 later\n");
        fs::write(&file, grown).unwrap();
        assert_eq!(map.name(&file, 0x9001, true), Some("later"));
    }

    #[test]
    fn functions_of_python_have_their_plain_names() {
        let map = "7f5a b py::Handler.do_GET:/srv/app.py\n7f70 b py::<module>:/srv/app.py\n7f80 b stub\n";
        let names: Vec<String> = parse(map).map(|(_, (_, name))| name).collect();
        assert_eq!(names, ["Handler.do_GET", "<module>", "stub"]);
    }

    #[test]
    fn the_map_of_a_process_that_has_ended_is_read_where_it_left_it() {
        let ended = i32::MAX.to_string();
        let of = |map: &str| left_behind(Path::new(&format!("/proc/{ended}/root{map}")));
        let map = format!("/tmp/perf-{ended}.map");
        assert_eq!(of(&map), Some(PathBuf::from(&map)));
        assert_eq!(of("/tmp/perf-7.map"), None, "it had another id in its namespace");
        let own = std::process::id();
        assert_eq!(left_behind(Path::new(&format!("/proc/{own}/root/tmp/perf-{own}.map"))), None);
    }

    #[test]
    fn code_without_a_name_is_called_by_the_library_that_compiles() {
        let maps = "7f00-7f10 r-xp 00000000 08:02 7  /usr/lib/libc.so.6\n7f20-7f30 r-xp 0 08:02 8  /usr/lib/libpcre2-8.so.0.11.2\n";
        assert_eq!(compiled_by(maps).as_deref(), Some("[compiled regular expression, libpcre2-8.so.0.11.2]"));
        assert_eq!(compiled_by("7f00-7f10 r-xp 00000000 08:02 7  /usr/lib/libc.so.6\n"), None);
    }

    #[test]
    fn a_map_is_known_by_its_name() {
        assert!(is_map(Path::new("/proc/9/root/tmp/perf-9.map")));
        assert!(!is_map(Path::new("/tmp/perf-.map")) && !is_map(Path::new("/usr/bin/perf")));
        assert!(is_map(&map_of(std::process::id())));
    }
}
