//! Programs of the user's own as services.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{fs, io};

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use plimsoll_model::experiment::ExecService;
use plimsoll_model::frame::Failure;

use crate::child;

/// As whom a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// As who the agent is.
    Own,
    /// As somebody who is not root, in a user namespace of his own: the agent's own user under another number. He cannot listen on ports
    /// below `net.ipv4.ip_unprivileged_port_start`.
    Ordinary,
}

/// What stands before the program where it is to run as [`Identity::Ordinary`].
const ORDINARY: &str = "--ordinary";
/// The number of the ordinary user and his group: nobody's, by long custom.
const NOBODY: u32 = 65534;

/// The command that becomes `program` and dies with the agent.
pub(crate) fn stage(
    identity: Identity,
    program: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    let mut command = child::command("exec");
    if identity == Identity::Ordinary {
        command.arg(ORDINARY);
    }
    command.arg(program).args(arguments);
    command
}

/// `plimsoll agent exec [--ordinary] PROGRAM ARGUMENT...`: becomes that program, and dies with the agent.
#[must_use]
pub fn main(argv: &[OsString]) -> ExitCode {
    let (ordinary, argv) = match argv.split_first() {
        Some((word, rest)) if word == ORDINARY => (true, rest),
        _ => (false, argv),
    };
    let Some((program, arguments)) = argv.split_first() else { return ExitCode::from(2) };
    if ordinary && let Err(error) = become_ordinary() {
        eprintln!("become an ordinary user: {error}");
        return ExitCode::FAILURE;
    }
    // After the change of user, which would undo it (prctl(2)).
    if !child::die_with_parent() {
        return ExitCode::FAILURE;
    }
    let error = Command::new(program).args(arguments).exec();
    eprintln!("{}: {error}", program.display());
    ExitCode::from(127)
}

/// Moves into a user namespace in which this user is nobody. Forbidding setgroups comes first, without which the kernel lets nobody map
/// a group (user_namespaces(7)); where the namespace around forbids it already, the file cannot be written and need not be.
fn become_ordinary() -> io::Result<()> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny").ok();
    fs::write("/proc/self/gid_map", format!("{NOBODY} {gid} 1"))?;
    fs::write("/proc/self/uid_map", format!("{NOBODY} {uid} 1"))
}

/// The command of a service, with its placeholders replaced.
pub(crate) fn command(
    service: &ExecService,
    listen: SocketAddr,
    to: &[SocketAddr],
) -> Result<Command, Failure> {
    let argv: Vec<String> = service.argv.iter().map(|word| fill(word, listen, to)).collect();
    let (program, arguments) =
        argv.split_first().ok_or_else(|| crate::other("start the service", "its command is empty"))?;
    let found = find(program)
        .ok_or_else(|| Failure::NoProgram { program: program.clone(), package: package_of(program) })?;
    let mut command = stage(Identity::Own, &found, arguments);
    command.envs(&service.env);
    Ok(command)
}

fn fill(word: &str, listen: SocketAddr, to: &[SocketAddr]) -> String {
    let to = to.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    word.replace("{port}", &listen.port().to_string())
        .replace("{address}", &listen.ip().to_string())
        .replace("{to}", &to)
}

/// Where a program is, as a shell would find it.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_file(path));
    }
    // Daemons live in folders that an ordinary user's PATH often lacks.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(program)).find(|path| is_file(path))
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file())
}

/// The Debian package of a program that users are likely to name.
fn package_of(program: &str) -> Option<String> {
    let package = match Path::new(program).file_name()?.to_str()? {
        "nginx" => "nginx-light",
        "haproxy" => "haproxy",
        "apache2" | "apachectl" => "apache2",
        "postfix" | "master" => "postfix",
        "python3" => "python3",
        _ => return None,
    };
    Some(package.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(argv: &[&str]) -> ExecService {
        ExecService { argv: argv.iter().map(ToString::to_string).collect(), env: Default::default() }
    }

    #[test]
    fn placeholders_are_replaced_inside_words() {
        let (listen, to) = ("10.0.0.2:80".parse().unwrap(), ["10.0.0.6:8080".parse().unwrap()]);
        let command = command(&service(&["sh", "--bind={address}:{port}", "{to}"]), listen, &to).unwrap();
        let words: Vec<_> =
            command.get_args().skip(3).map(|word| word.to_str().unwrap().to_owned()).collect();
        assert_eq!(words, ["--bind=10.0.0.2:80", "10.0.0.6:8080"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_named_with_its_package() {
        let error = command(&service(&["/nowhere/nginx"]), "10.0.0.2:80".parse().unwrap(), &[]).unwrap_err();
        assert!(error.to_string().contains("nginx-light"), "{error}");
    }
}
