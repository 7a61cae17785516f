//! Programs of the user's own as services.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plimsoll_model::frame::{Failure, ServiceSpec};
use plimsoll_path::Folder;

use crate::child::passed_environment;
use crate::folder::write_certificate;
use crate::other;
use crate::sandbox::{self, Entry, Kind, Paths};

/// The program of a service, with its placeholders replaced. It may write to `scratch`.
pub(crate) fn entry(
    argv: &[String],
    spec: &ServiceSpec,
    listen: SocketAddr,
    scratch: &Path,
) -> Result<Entry, Failure> {
    let config = match &spec.template {
        Some(template) => {
            let filled = template.fill(listen, &spec.to, &scratch.to_string_lossy());
            let what = || format!("configure {}", template.file);
            let filled = filled.map_err(|error| other(what(), error))?;
            // The folder is the program's own, which may have left anything in it before it was started again.
            let folder = Folder::open(scratch).map_err(|error| other(what(), error))?;
            let write = |file: &mut File| {
                file.write_all(filled.as_bytes())?;
                file.set_permissions(Permissions::from_mode(0o644))
            };
            folder.replace(template.file.as_ref(), write).map_err(|error: io::Error| other(what(), error))?;
            scratch.join(&template.file).to_string_lossy().into_owned()
        }
        None => String::new(),
    };
    write_certificate(spec, scratch, !spec.privileged)?;
    let word = |word: &String| fill(word, listen, &spec.to, scratch).replace("{config}", &config);
    let argv: Vec<String> = argv.iter().map(word).collect();
    Ok(own(&argv, spec.privileged, &spec.pass_env, scratch)?.environment(&spec.env))
}

/// A program of the file that may write to `scratch`, with little of the agent's environment.
pub(crate) fn own(
    argv: &[String],
    privileged: bool,
    pass_env: &[String],
    scratch: &Path,
) -> Result<Entry, Failure> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| other("start a program", "its command is empty"))?;
    let missing = || Failure::NoProgram { program: program.clone(), package: package_of(program) };
    let found = if privileged { find(program) } else { find_for_nobody(program) }.ok_or_else(missing)?;
    if found.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 == 0) {
        let advice = format!("the file may not be executed; `chmod +x {program}` allows it");
        return Err(other(format!("start `{program}`"), advice));
    }
    let kind = if privileged { Kind::Privileged } else { Kind::Program };
    let mut entry = Entry::new(kind, found, arguments);
    entry.environment = passed_environment(pass_env);
    if privileged {
        return Ok(entry.environment(std::env::var_os("HOME").map(|home| ("HOME", home))));
    }
    let here = std::env::current_dir().map_err(|error| other("find the working folder", error))?;
    let opened = vec![here.join(&entry.program), here];
    entry.paths = Paths { writable: vec![scratch.to_owned()], opened, ..Paths::default() };
    Ok(entry.environment(["HOME", "TMPDIR"].map(|name| (name, scratch))))
}

fn fill(word: &str, listen: SocketAddr, to: &[SocketAddr], scratch: &Path) -> String {
    let to = to.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    word.replace("{port}", &listen.port().to_string())
        .replace("{address}", &listen.ip().to_string())
        .replace("{to}", &to)
        .replace("{scratch}", &scratch.to_string_lossy())
}

/// Where a program is, as a shell would find it.
pub fn find(program: &str) -> Option<PathBuf> {
    candidates(program).find(|path| is_file(path))
}

/// Finds a program for the user `nobody`, who cannot enter some folders of root's `PATH`. A program that the file names by
/// its path gets the folders above it opened.
fn find_for_nobody(program: &str) -> Option<PathBuf> {
    if program.contains('/') || !sandbox::can_become_nobody() {
        return find(program);
    }
    let may_start = |path: &PathBuf| {
        let file = path.canonicalize();
        file.is_ok_and(|file| {
            sandbox::closed_on_the_way(&file).is_none()
                && file.metadata().is_ok_and(|meta| meta.is_file() && sandbox::is_open(&meta, 1))
        })
    };
    candidates(program).find(may_start).or_else(|| find(program))
}

/// Where a program could be.
fn candidates(program: &str) -> impl Iterator<Item = PathBuf> {
    let named = program.contains('/');
    // Daemons live in folders that an ordinary user's PATH often lacks.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let folders = if named { vec![PathBuf::new()] } else { folders };
    let program = program.to_owned();
    folders.into_iter().map(move |folder| folder.join(&program))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file())
}

/// The Debian package of a program that users are likely to name.
fn package_of(program: &str) -> Option<String> {
    let name = Path::new(program).file_name()?.to_str()?;
    let package = match name {
        "ab" => "apache2-utils",
        "nginx" => "nginx-light",
        "haproxy" => "haproxy",
        "apache2" | "apachectl" => "apache2",
        "postfix" | "master" => "postfix",
        "python3" => "python3",
        "pgbench" => "postgresql-contrib",
        "postal" => "postal",
        "redis-benchmark" | "redis-cli" => "redis-tools",
        "redis-server" => "redis-server",
        "sysbench" => "sysbench",
        "wrk" => "wrk",
        _ => return None,
    };
    Some(package.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(argv: &[&str], to: &[&str], scratch: &str) -> Result<Entry, Failure> {
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        let spec = serde_json::json!({
            "name": "it", "listen": [], "to": to, "kind": { "exec": argv }, "privileged": false, "ready": {},
        });
        let spec = serde_json::from_value(spec).unwrap();
        entry(&argv, &spec, "10.0.0.2:80".parse().unwrap(), Path::new(scratch))
    }

    #[test]
    fn placeholders_are_replaced_inside_words() {
        let argv = ["sh", "--bind={address}:{port}", "{to}", "{scratch}/db"];
        let entry = entry_of(&argv, &["10.0.0.6:8080"], "/dev/shm/x").unwrap();
        assert_eq!(entry.arguments, ["--bind=10.0.0.2:80", "10.0.0.6:8080", "/dev/shm/x/db"]);
    }

    #[test]
    fn a_file_that_may_not_be_executed_is_named_with_what_allows_it() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("serve");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let error = entry_of(&[script.to_str().unwrap()], &[], "/x").unwrap_err();
        assert!(error.to_string().contains("`chmod +x /"), "{error}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_its_package() {
        let error = entry_of(&["/nowhere/nginx"], &[], "/x").unwrap_err();
        assert!(error.to_string().contains("nginx-light"), "{error}");
    }
}
