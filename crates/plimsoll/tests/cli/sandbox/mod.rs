//! The sandbox: programs of a file reach what the table in docs/security.md says, for each caller and each key that starts one.

mod inside;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::lab::{Lab, Printed};

/// Tries what a program could reach, and prints a number with one bit for each attempt.
const PROBE: &str = include_str!("probe.py");
/// Starts Plimsoll with a key in the session keyring, an open descriptor, and sockets.
const CALLER: &str = include_str!("caller.py");
/// The page with the table, and the lines around it.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md");
const TABLE: [&str; 2] = ["<!-- probe: begin -->\n", "<!-- probe: end -->\n"];
/// Writes the columns of the table in place of comparing them.
const UPDATE: &str = "PLIMSOLL_UPDATE_PROBE";

/// Columns of the table behind the attempts.
const COLUMNS: usize = 8;

static STARTED: AtomicU32 = AtomicU32::new(0);

/// Where a file names a program.
const USES: [&str; 4] = ["service", "load", "hook", "step"];

fn experiment(place: &str, kind: &str, command: &str) -> String {
    let at = |wanted: &str, text: String, otherwise: &str| {
        if place == wanted { text } else { otherwise.to_owned() }
    };
    let env = "env = { MODE = \"as named\" }";
    let service = at("service", format!("port = 8099\nexec = {command}\n{env}"), "web = {}");
    let http = "http = { connections = 5 }";
    let load = at("load", format!("[loads.some.exec]\ncommand = {command}\nreads = \"wrk\"\n{env}"), http);
    let hook = at("hook", format!("prepare = [{{ command = {command}, {env} }}]"), "");
    let run = format!("do = [{{ run = {{ on = \"server\", command = {command}, {env} }} }}]");
    let step = at("step", format!("[[phases]]\nname = \"stepped\"\n{run}"), "");
    let to = at("load", String::new(), "to = \"web\"");
    format!(
        "question = \"What can it reach?\"\n[hosts.server]\nkind = \"{kind}\"\n{hook}\n[services.web]\non = \"server\"\n{service}\n\
         [loads.some]\nfrom = \"server\"\n{to}\n{load}\n{step}\n[[phases]]\nname = \"all\"\nmeasure = \"some\"\nslices = 3\n\
         [run]\nmax_trials = 1\n"
    )
}

fn names() -> Vec<String> {
    let output =
        Command::new("/usr/bin/python3").args(["-c", PROBE, "names"]).output().expect("python3 starts");
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// A name that no other probe has: abstract sockets have one name in the whole machine, and the tests of this file run side by side.
fn token() -> String {
    format!("plimsoll-probe-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed))
}

/// Attempts that succeed in a program of a file, as bits.
fn reached(lab: Lab, place: &str, kind: &str) -> u128 {
    let token = token();
    let folder = lab.folder().display().to_string();
    lab.file("probe.py", PROBE);
    let outsider = std::process::id();
    let words = format!("[\"./probe.py\", \"{outsider}\", \"{{scratch}}\", \"{folder}\", \"{token}\"]");
    bits(&run_with_probe(lab, &experiment(place, kind, &words), token))
}

/// Runs an experiment with a probe, as a caller with much to lose. The run's output has the probe's result.
fn run_with_probe(lab: Lab, experiment: &str, token: String) -> String {
    let file = lab.file("probed.toml", experiment);
    let caller = lab.file("caller.py", CALLER);
    let program = lab.program().to_owned();
    // Only root can create files outside of the lab; without them another user's attempts fail.
    let elsewhere = nix::unistd::geteuid().is_root().then(|| Elsewhere::make(&token));
    let lab = lab.by(&["/usr/bin/python3".to_owned(), caller, token], &program);
    let output = lab.plimsoll_in(&["run", &file, "--format", "json"], &[("A_SECRET", "secret")]);
    drop(elsewhere);
    [output.stderr, output.stdout].concat()
}

/// A socket and a FIFO with a listener, in a folder that programs see.
struct Elsewhere {
    folder: PathBuf,
    _socket: UnixListener,
    _fifo: File,
}

impl Elsewhere {
    fn make(token: &str) -> Self {
        let folder = Path::new("/opt").join(token);
        let (socket, fifo) = (folder.join("socket"), folder.join("fifo"));
        fs::create_dir(&folder).expect("root may");
        let listener = UnixListener::bind(&socket).expect("root may");
        mkfifo(&fifo, Mode::empty()).expect("root may");
        for (path, mode) in [(&folder, 0o755), (&socket, 0o777), (&fifo, 0o777)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("root may");
        }
        let reader = File::options().read(true).write(true).open(&fifo).expect("root may");
        Self { folder, _socket: listener, _fifo: reader }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// The result of a probe.
fn bits(text: &str) -> u128 {
    let all: String = text.split_whitespace().collect();
    let hexadecimal = |rest: &str| u128::from_str_radix(rest.split('.').next()?, 16).ok();
    let bits = all.split("reached").skip(1).find_map(hexadecimal);
    bits.unwrap_or_else(|| panic!("no result of the probe in {text}"))
}

/// Compares what programs of a file reach with a column of the table, or writes the column.
fn is_in_the_table(column: usize, kind: &str, lab: impl Fn() -> Lab) {
    for place in USES {
        compare(column, place, reached(lab(), place, kind));
    }
}

/// Cell of the table for attempts that the kernel or its settings decide, for programs without a system call filter.
const AS_THE_KERNEL: &str = "as the kernel allows";

/// Compares successful attempts with a column of the table, or writes the column.
fn compare(column: usize, by: &str, bits: u128) {
    let names = names();
    let page = fs::read_to_string(PAGE).expect("docs/security.md is there");
    let (before, rest) = page.split_once(TABLE[0]).expect("the table begins");
    let (table, after) = rest.split_once(TABLE[1]).expect("the table ends");
    let answer = |bits: u128, number: usize| if bits >> number & 1 == 1 { "**yes**" } else { "no" };
    if std::env::var_os(UPDATE).is_some() {
        let mut lines: Vec<String> = table.lines().take(2).map(str::to_owned).collect();
        for (number, name) in names.iter().enumerate() {
            let old = table.lines().find(|line| line.starts_with(&format!("| {name} |")));
            let mut cells: Vec<&str> = old.map_or(Vec::new(), |line| line.split(" | ").skip(1).collect());
            cells.iter_mut().for_each(|cell| *cell = cell.trim_end_matches(" |"));
            cells.resize(COLUMNS, "no");
            if cells[column] != AS_THE_KERNEL {
                cells[column] = answer(bits, number);
            }
            lines.push(format!("| {name} | {} |", cells.join(" | ")));
        }
        let page = format!("{before}{}{}\n{}{after}", TABLE[0], lines.join("\n"), TABLE[1]);
        fs::write(PAGE, page).expect("the page can be written");
        return;
    }
    let stated = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(&format!("| {name} |")));
        line.and_then(|line| line.trim_end_matches(" |").split(" | ").nth(column + 1).map(str::to_owned))
    };
    for (number, name) in names.iter().enumerate() {
        let here = answer(bits, number);
        let stated = stated(name);
        if stated.as_deref() != Some(AS_THE_KERNEL) {
            assert_eq!(stated.as_deref(), Some(here), "{by}: `{name}` in column {column} of the table");
        }
    }
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn programs_of_root_reach_what_the_table_says() {
    is_in_the_table(0, "namespace", Lab::of_root);
    is_in_the_table(2, "local", || Lab::of_root().allowing("local"));
}

#[test]
fn programs_of_an_ordinary_user_reach_what_the_table_says() {
    is_in_the_table(1, "namespace", Lab::of_ordinary_user);
}

/// Builds a library that leaves a file when it is loaded; the file's owner names the user.
fn library(lab: &Lab) -> String {
    lab.file(
        "mine.c",
        "#include <stdio.h>\n#include <unistd.h>\n__attribute__((constructor)) static void loaded(void) {\n\
         FILE *file = fopen(\"loaded\", \"w\");\nif (file) { fclose(file); }\n}\n",
    );
    let library = lab.path("mine.so");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(lab.path("mine.c")).status();
    assert!(built.expect("cc starts").success());
    library.display().to_string()
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_library_of_the_file_is_loaded_into_its_program_and_not_into_the_stage_before() {
    for place in USES {
        let lab = Lab::of_root();
        let library = library(&lab);
        let words = "[\"sh\", \"-c\", \"echo reached $LD_PRELOAD >&2; exit 1\"]";
        let text = experiment(place, "namespace", words)
            .replace("MODE = \"as named\"", &format!("LD_PRELOAD = \"{library}\""));
        let output = lab.plimsoll(&["run", &lab.file("preload.toml", &text), "--format", "json"]);
        let Printed { stderr, stdout, .. } = &output;
        assert!(stderr.contains("reached") || stdout.contains("reached"), "{place}: {output:?}");
        assert!(!Path::new(&lab.path("loaded")).exists(), "{place}: the library ran outside of the sandbox");
    }
}

#[test]
fn a_program_that_kills_all_it_can_leaves_its_agent_alive() {
    let lab = Lab::of_ordinary_user();
    let words = "[\"python3\", \"-c\", \"import os\\nfor pid in [os.getppid(), -1] + list(range(2, 400)):\\n  try:\\n    pid != os.getpid() and os.kill(pid, 9)\\n  except OSError: pass\\nraise SystemExit('I am still here')\"]";
    let file = lab.file("kills.toml", &experiment("service", "namespace", words));
    lab.plimsoll(&["run", &file]).exits(3).says("I am still here");
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_built_in_server_cannot_read_what_only_root_may() {
    let lab = Lab::of_root().allowing("files");
    let text = experiment("service", "namespace", "[\"true\"]");
    let text = text.replace(
        "port = 8099\nexec = [\"true\"]\nenv = { MODE = \"as named\" }",
        "web = { root = \"/etc\" }",
    );
    let answered = |path: &str| {
        let text = text.replace("connections = 5", &format!("connections = 5, path = \"{path}\""));
        let output = lab.plimsoll(&["run", &lab.file("web.toml", &text), "--yes", "--format", "json"]);
        output.json()["trials"][0]["phases"][0]["errors"] == serde_json::json!({})
    };
    assert!(answered("/passwd"));
    assert!(!answered("/shadow"));
}
