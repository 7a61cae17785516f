//! Programs of the user's own as services.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use plimsoll_model::frame::{Failure, ServiceSpec};

use crate::confine::{self, Confinement, Identity, clean_environment, is_open};
use crate::folder::write_certificate;
use crate::{child, memory, other};

/// The command that becomes `program`, confined or with the agent's own rights, and dies with the agent.
pub(crate) fn stage(
    confinement: Option<&Confinement>,
    program: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<Command, Failure> {
    let how = serde_json::to_string(&confinement).map_err(|error| other("start the service", error))?;
    let mut command = child::command("exec");
    command.arg(how).arg(program).args(arguments);
    Ok(command)
}

/// `plimsoll agent exec HOW PROGRAM ARGUMENT...`: becomes that program, confined as HOW says (JSON; `null` for not at all), and dies with the
/// agent.
#[must_use]
pub fn main(argv: &[OsString]) -> ExitCode {
    let Some((how, argv)) = argv.split_first() else { return ExitCode::from(2) };
    let Some((program, arguments)) = argv.split_first() else { return ExitCode::from(2) };
    let how = how.to_str().and_then(|how| serde_json::from_str::<Option<Confinement>>(how).ok());
    let Some(how) = how else { return ExitCode::from(2) };
    // Before the change of user, who could not any more.
    memory::go_first();
    if let Some(confinement) = how
        && let Err((what, error)) = confinement.apply()
    {
        tracing::error!("cannot keep the program apart from the machine: {what}: {error}");
        return ExitCode::FAILURE;
    }
    // After the change of user, which would undo it (prctl(2)).
    if !child::die_with_parent() {
        return ExitCode::FAILURE;
    }
    let error = Command::new(program).args(arguments).exec();
    tracing::error!("{}: {error}", program.display());
    ExitCode::from(127)
}

/// The command of a service, with its placeholders replaced. It may write to `scratch`.
pub(crate) fn command(
    argv: &[String],
    spec: &ServiceSpec,
    listen: SocketAddr,
    scratch: &Path,
) -> Result<Command, Failure> {
    let config = match &spec.template {
        Some(template) => {
            let filled = template.fill(listen, &spec.to, &scratch.to_string_lossy());
            let what = || format!("configure {}", template.file);
            let path = scratch.join(&template.file);
            let filled = filled.map_err(|error| other(what(), error))?;
            fs::write(&path, filled)
                .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o644)))
                .map_err(|error| other(what(), error))?;
            path.to_string_lossy().into_owned()
        }
        None => String::new(),
    };
    write_certificate(spec, scratch, !spec.privileged)?;
    let word = |word: &String| fill(word, listen, &spec.to, scratch).replace("{config}", &config);
    let argv: Vec<String> = argv.iter().map(word).collect();
    let mut command = confined(&argv, spec.privileged, &spec.pass_env, scratch)?;
    command.envs(&spec.env);
    Ok(command)
}

/// The command of a program that may write to `scratch`, with little of the agent's environment: confined, unless it is privileged.
pub(crate) fn confined(
    argv: &[String],
    privileged: bool,
    pass_env: &[String],
    scratch: &Path,
) -> Result<Command, Failure> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| other("start a program", "its command is empty"))?;
    let missing = || Failure::NoProgram { program: program.clone(), package: package_of(program) };
    let found = if privileged { find(program) } else { find_for_nobody(program) }.ok_or_else(missing)?;
    let confinement = if privileged {
        None
    } else {
        let here = std::env::current_dir().map_err(|error| other("find the working folder", error))?;
        let opened = vec![here.join(&found), here];
        let writable = vec![scratch.to_owned()];
        Some(Confinement { identity: Identity::Nobody, writable, visible: Vec::new(), opened })
    };
    let mut command = stage(confinement.as_ref(), &found, arguments)?;
    clean_environment(&mut command, pass_env);
    if !privileged {
        command.env("HOME", scratch).env("TMPDIR", scratch);
    } else if let Some(home) = std::env::var_os("HOME") {
        command.env("HOME", home);
    }
    Ok(command)
}

fn fill(word: &str, listen: SocketAddr, to: &[SocketAddr], scratch: &Path) -> String {
    let to = to.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    word.replace("{port}", &listen.port().to_string())
        .replace("{address}", &listen.ip().to_string())
        .replace("{to}", &to)
        .replace("{scratch}", &scratch.to_string_lossy())
}

/// Where a program is, as a shell would find it.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    candidates(program).find(|path| is_file(path))
}

/// The same for a program that is started as nobody: in root's `PATH` there may be folders that only root may enter. Where a program was
/// named by its path, the way there is opened for it.
fn find_for_nobody(program: &str) -> Option<PathBuf> {
    if program.contains('/') || !confine::can_become_nobody() {
        return find(program);
    }
    let may_start = |path: &PathBuf| {
        let file = path.canonicalize();
        file.is_ok_and(|file| {
            confine::closed_on_the_way(&file).is_none()
                && file.metadata().is_ok_and(|meta| meta.is_file() && is_open(&meta, 1))
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

    fn command_of(argv: &[&str], to: &[&str], scratch: &str) -> Result<Command, Failure> {
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        let spec = serde_json::json!({
            "name": "it", "listen": [], "to": to, "kind": { "exec": argv }, "privileged": false, "ready": {},
        });
        let spec = serde_json::from_value(spec).unwrap();
        command(&argv, &spec, "10.0.0.2:80".parse().unwrap(), Path::new(scratch))
    }

    #[test]
    fn placeholders_are_replaced_inside_words() {
        let argv = ["sh", "--bind={address}:{port}", "{to}", "{scratch}/db"];
        let command = command_of(&argv, &["10.0.0.6:8080"], "/dev/shm/x").unwrap();
        let words: Vec<_> =
            command.get_args().skip(4).map(|word| word.to_str().unwrap().to_owned()).collect();
        assert_eq!(words, ["--bind=10.0.0.2:80", "10.0.0.6:8080", "/dev/shm/x/db"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_its_package() {
        let error = command_of(&["/nowhere/nginx"], &[], "/x").unwrap_err();
        assert!(error.to_string().contains("nginx-light"), "{error}");
    }
}
