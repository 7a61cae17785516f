//! Common parts of stories about existing machines.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A web server and a client, reached by these means.
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

/// A copy of the program in a folder without symbols, which are the largest part of a test build.
pub(crate) fn stripped_in(folder: &Path) -> PathBuf {
    let program = folder.join("plimsoll");
    let strip = Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_plimsoll")).status();
    assert!(strip.expect("strip starts").success());
    program
}

/// First line of a process's output.
pub(crate) fn first_words(process: &mut Child) -> String {
    let mut said = String::new();
    let stdout = process.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut said).expect("it says something");
    said
}

/// Process id of the only child of a process, such as the command of `unshare --fork`.
pub(crate) fn only_child(of: &Child) -> u32 {
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", of.id())).expect("it runs");
    children.trim().parse().expect("one child")
}
