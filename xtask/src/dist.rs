//! The static program: a single file for other machines and for images.

use std::path::{Path, PathBuf};

use crate::shell;

/// The target of this machine.
pub(crate) const HERE: &str = "x86_64-unknown-linux-gnu";

/// Builds the program for a target, and prints its path with its SHA-256.
pub(crate) fn run(target: &str) -> Result<(), String> {
    let folder = shell::target_folder();
    let program = build(target, Path::new("."), &folder)?;
    print!("{}", shell::output("sha256sum", &[&program])?);
    Ok(())
}

/// Builds the commit twice, in two fresh folders, and fails if the two programs differ.
pub(crate) fn twice(target: &str) -> Result<(), String> {
    let place = std::env::temp_dir().join(format!("plimsoll-dist-{}", std::process::id()));
    let built = ["one", "another"].map(|name| {
        let source = place.join(name);
        let shown = source.display().to_string();
        shell::run("mkdir", &["-p", &shown])?;
        shell::run("sh", &["-c", "git archive HEAD | tar --extract --directory \"$0\"", &shown])?;
        let program = build(target, &source, &source.join("target"))?;
        let sum = shell::output("sha256sum", &[&program])?;
        print!("{sum}");
        // A build takes gigabytes, and the next one must start from nothing.
        std::fs::remove_dir_all(&source).map_err(|error| format!("{shown}: {error}"))?;
        Ok(sum.split_whitespace().next().unwrap_or_default().to_owned())
    });
    std::fs::remove_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    match built {
        [Ok(one), Ok(another)] if one == another => Ok(()),
        [Ok(_), Ok(_)] => Err("two builds of one commit differ".into()),
        [Err(why), _] | [_, Err(why)] => Err(why),
    }
}

/// Builds the program of a source folder without shared libraries, so that it runs on any Linux of the target's architecture. Returns its file.
///
/// The folder of the build is not in it, so two builds of one commit by one compiler are equal. Another architecture needs the compiler's library for
/// it (`rustup target add TARGET`; for Debian's compiler `libstd-rust-dev:arm64`) and a linker of Debian's (`gcc-aarch64-linux-gnu`).
pub(crate) fn build(target: &str, source: &Path, folder: &Path) -> Result<String, String> {
    let absolute = |path: &Path| {
        let absolute = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        absolute.map_err(|error| format!("{}: {error}", path.display()))
    };
    let (source, folder) = (absolute(source)?, absolute(folder)?);
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    // Of two that fit the last one counts.
    // At a fixed address, as crates/plimsoll/build.rs has it for other builds.
    let libc = ["-Ctarget-feature=+crt-static", "-Crelocation-model=static"].map(ToOwned::to_owned);
    let mut flags = Vec::from(libc);
    flags.push(remap(&source, "/plimsoll"));
    flags.extend(home.map(|home| remap(&home, "/cargo")));
    flags.push(remap(&folder, "/plimsoll/target"));
    let mut variables = vec![
        format!("--chdir={}", source.display()),
        format!("CARGO_TARGET_DIR={}", folder.display()),
        format!("CARGO_ENCODED_RUSTFLAGS={}", flags.join("\u{1f}")),
    ];
    if target != HERE {
        let architecture = target.split('-').next().unwrap_or_default();
        let gcc = format!("{architecture}-linux-gnu-gcc");
        let name = target.replace('-', "_");
        variables.push(format!("CARGO_TARGET_{}_LINKER={gcc}", name.to_uppercase()));
        variables.push(format!("CC_{name}={gcc}"));
    }
    let cargo =
        ["cargo", "build", "--profile", "dist", "--locked", "--package", "plimsoll", "--target", target];
    let words: Vec<&str> = variables.iter().map(String::as_str).chain(cargo).collect();
    shell::run("env", &words).map_err(|why| match target == HERE {
        true => why,
        false => {
            format!(
                "{why}; it takes `rustup target add {target}`, or Debian's compiler with libstd-rust-dev:arm64, and a linker (gcc-aarch64-linux-gnu); see docs/machines.md"
            )
        }
    })?;
    let program = folder.join(target).join("dist/plimsoll").display().to_string();
    let headers = shell::output("readelf", &["--program-headers", "--wide", &program])?;
    if let Some(line) = headers.lines().find(|line| line.trim_start().starts_with("INTERP")) {
        return Err(format!("{program} needs shared libraries of the machine: {}", line.trim()));
    }
    Ok(program)
}
