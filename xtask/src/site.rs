//! The documentation as a site: docs/ with a list of contents, made by mdBook.
//!
//! No part of `cargo xtask test`: mdBook took four minutes to build on two busy CPUs. Links, commands and the list of contents are checked by a story instead.

use std::process::Command;

use crate::{shell, tool};

/// The version of mdBook that is used.
const VERSION: &str = "0.5.4";
/// Features of mdBook, without its server and its watch on files.
const OPTIONS: [&str; 3] = ["--no-default-features", "--features", "search"];

/// Builds the site into `site` of the target folder, and fails on a warning of mdBook.
pub(crate) fn run() -> Result<(), String> {
    let folder = shell::target_folder();
    let folder = std::path::absolute(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = tool::build(&folder, "mdbook", VERSION, &OPTIONS)?;
    let site = folder.join("site");
    let built = Command::new(&program).args(["build", "--dest-dir"]).arg(&site).output();
    let built = built.map_err(|error| format!("cannot run {program}: {error}"))?;
    let said = String::from_utf8_lossy(&built.stderr);
    eprint!("{said}");
    let warned = said.lines().any(|line| line.contains("WARN") || line.contains("ERROR"));
    if !built.status.success() || warned {
        return Err("mdBook has warned, or failed".into());
    }
    println!("{}", site.join("index.html").display());
    Ok(())
}
