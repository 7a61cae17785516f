//! Other programs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Runs cargo in the project, and fails when it does.
pub(crate) fn cargo(args: &[&str]) -> Result<(), String> {
    run("cargo", args)
}

/// Runs a program, and fails when it does.
pub(crate) fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let line = command_line(program, args);
    eprintln!("$ {line}");
    let status = Command::new(program)
        .args(args)
        .status()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed: {status}")) }
}

/// A command as a log shows it. A thousand file names would hide the error above them.
fn command_line(program: &str, args: &[&str]) -> String {
    let shown = args.len().min(20);
    let more = if shown < args.len() { format!(" ... ({} more)", args.len() - shown) } else { String::new() };
    format!("{program} {}{more}", args[..shown].join(" "))
}

pub(crate) fn output(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(args)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{}` failed: {}", command_line(program, args), output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{program} printed no UTF-8: {error}"))
}
