//! What stories about machines that are there already have in common.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A web server and a client, each reached so.
pub(crate) fn pair(question: &str, client: &str, server: &str) -> String {
    format!(
        r#"
question = "{question}"
[hosts.client]
reach = {client}
allow = ["root"]
lost_after = "3s"
[hosts.server]
reach = {server}
allow = ["root"]
lost_after = "3s"
[services.site]
on = "server"
web = {{}}
[loads.users]
from = "client"
to = "site"
http = {{ connections = 200 }}
[[phases]]
name = "all"
measure = "users"
slices = 4
[[claims]]
limit = {{ metric = "error_share", below = "1 %" }}
[run]
min_trials = 2
max_trials = 2
"#
    )
}

/// The program in a folder, without the names of functions: they are most of what a program for tests is, and no part of these stories.
pub(crate) fn stripped_in(folder: &Path) -> PathBuf {
    let program = folder.join("plimsoll");
    let strip = Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_plimsoll")).status();
    assert!(strip.expect("strip starts").success());
    program
}

/// The first line that a process says.
pub(crate) fn first_words(process: &mut Child) -> String {
    let mut said = String::new();
    let stdout = process.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut said).expect("it says something");
    said
}

/// The process id of the only child of a process: of `unshare --fork`, what it has started.
pub(crate) fn only_child(of: &Child) -> u32 {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", of.id())).expect("it runs");
    children.trim().parse().expect("one child")
}
