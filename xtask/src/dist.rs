//! The program as one file that needs nothing else of a machine: what is copied to other machines, and what an image is made of.

use std::path::{Path, PathBuf};

use crate::shell;

/// The target of this machine.
pub(crate) const HERE: &str = "x86_64-unknown-linux-gnu";

/// Builds the program for a target without shared libraries, so that it runs on any Linux of that architecture, and tells where it is with its SHA-256.
///
/// Where it was built is not in it, so that two builds of one commit by one compiler are the same. For an architecture that is not this machine's it takes
/// the compiler's library for it (`rustup target add TARGET`) and a linker of Debian's (`gcc-aarch64-linux-gnu`).
pub(crate) fn run(target: &str) -> Result<(), String> {
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned(), remap(&here, "/plimsoll")];
    flags.extend(home.map(|home| remap(&home, "/cargo")));
    let mut variables = vec![format!("CARGO_ENCODED_RUSTFLAGS={}", flags.join("\u{1f}"))];
    if target != HERE {
        let architecture = target.split('-').next().unwrap_or_default();
        let gcc = format!("{architecture}-linux-gnu-gcc");
        let name = target.replace('-', "_");
        variables.push(format!("CARGO_TARGET_{}_LINKER={gcc}", name.to_uppercase()));
        variables.push(format!("CC_{name}={gcc}"));
    }
    let cargo = ["cargo", "build", "--release", "--locked", "--package", "plimsoll", "--target", target];
    let words: Vec<&str> = variables.iter().map(String::as_str).chain(cargo).collect();
    shell::run("env", &words).map_err(|why| match target == HERE {
        true => why,
        false => {
            format!("{why}; it takes `rustup target add {target}`, and a linker (gcc-aarch64-linux-gnu)")
        }
    })?;
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let program = folder.join(target).join("release/plimsoll").display().to_string();
    let headers = shell::output("readelf", &["--program-headers", "--wide", &program])?;
    if let Some(line) = headers.lines().find(|line| line.trim_start().starts_with("INTERP")) {
        return Err(format!("{program} needs shared libraries of the machine: {}", line.trim()));
    }
    print!("{}", shell::output("sha256sum", &[&program])?);
    Ok(())
}
