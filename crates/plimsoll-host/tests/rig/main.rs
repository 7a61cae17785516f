//! Rigs of real hosts, as root and as an ordinary user.
//!
//! Each scenario is two tests. `as_root` needs root, and is ignored unless asked for. `as_user` runs as whoever starts the tests; if
//! that is root, it runs in a child process as another user.

mod agent;
mod controller;
mod scenarios;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use plimsoll_host::Access;

/// The user and group that stand for an ordinary user where the tests are run by root: nobody's, by long custom.
const NOBODY: u32 = 65534;

fn main() -> ExitCode {
    if let Some(code) = plimsoll_host::stage(std::env::args_os()) {
        return code;
    }
    match std::env::args().nth(1).as_deref() {
        Some(agent::ARGUMENT) => return agent::run(),
        Some(controller::ARGUMENT) => return controller::run(),
        _ => {}
    }
    let access = match plimsoll_host::enter() {
        Ok(access) => access,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let trials = scenarios::ALL.iter().flat_map(|(name, scenario)| {
        let (for_root, for_user) = (access.clone(), access.clone());
        [
            Trial::test(format!("as_root::{name}"), move || as_root(&for_root, *scenario))
                .with_ignored_flag(true),
            Trial::test(format!("as_user::{name}"), move || as_user(&for_user, name, *scenario)),
        ]
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn as_root(access: &Access, scenario: fn()) -> Result<(), Failed> {
    if *access != Access::Root {
        return Err("this test needs root; `cargo xtask test` runs it".into());
    }
    scenario();
    Ok(())
}

fn as_user(access: &Access, name: &str, scenario: fn()) -> Result<(), Failed> {
    match access {
        Access::UserNamespace => {
            scenario();
            Ok(())
        }
        Access::Local(why) => {
            Err(format!("this test needs user namespaces, which are forbidden {why}").into())
        }
        Access::Root => as_nobody(name),
    }
}

/// Runs the same test of a copy of this program, since the user may not be allowed into the folder where it was built.
fn as_nobody(name: &str) -> Result<(), Failed> {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    let copy = folder.path().join("rig");
    std::fs::copy(std::env::current_exe()?, &copy)?;
    let test = format!("as_user::{name}");
    let output =
        Command::new(&copy).args(["--exact", &test]).current_dir("/").uid(NOBODY).gid(NOBODY).output()?;
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() && told.contains("1 passed") { Ok(()) } else { Err(told.into()) }
}
