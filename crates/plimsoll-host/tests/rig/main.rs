//! Rigs of real hosts, as root and as an ordinary user.
//!
//! Each scenario is two tests. `as_root` needs root, and runs only with `--include-ignored`. `as_user` runs as an
//! ordinary user: root starts a child process for it. Link scenarios run a third time `in_a_guest`, which has netem.

mod agent;
mod confined;
mod controller;
mod emulators;
mod guest;
mod scenarios;
mod traffic;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use plimsoll_host::Access;

/// The user and group that stand for an ordinary user where the tests are run by root: nobody's, by long custom.
const NOBODY: u32 = 65534;

fn main() -> ExitCode {
    // Messages of the stages go to the standard error, as in the program.
    tracing_subscriber::fmt()
        .without_time()
        .with_level(false)
        .with_target(false)
        .with_writer(std::io::stderr)
        .init();
    if let Some(code) = plimsoll_host::stage(std::env::args_os()) {
        return code;
    }
    match std::env::args().nth(1).as_deref() {
        Some(agent::ARGUMENT) => return agent::run(),
        Some(confined::ARGUMENT) => return confined::run(),
        Some(controller::ARGUMENT) => return controller::run(),
        Some(guest::init::ARGUMENT) => return guest::init::run(),
        _ => {}
    }
    match test() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let access = plimsoll_host::enter()?;
    // Before there are threads: a child of another thread would keep the copy open for writing, and so not executable.
    let copy = OpenCopy::make()?;
    let roots = scenarios::ALL.iter().chain(emulators::ALL).map(|(name, scenario)| {
        let access = access.clone();
        Trial::test(format!("as_root::{name}"), move || as_root(&access, *scenario)).with_ignored_flag(true)
    });
    let users =
        scenarios::ALL.iter().chain(scenarios::USERS_ONLY).chain(emulators::ALL).map(|(name, scenario)| {
            let (access, program) = (access.clone(), copy.program.clone());
            Trial::test(format!("as_user::{name}"), move || as_user(&access, &program, name, *scenario))
        });
    let guest = Trial::test("in_a_guest::links_are_shaped_by_netem", guest::links_are_shaped_by_netem)
        .with_ignored_flag(true);
    Ok(libtest_mimic::run(&Arguments::from_args(), roots.chain(users).chain([guest]).collect()).exit_code())
}

/// A copy of this program in a folder that every user may enter, unlike perhaps the one where it was built.
struct OpenCopy {
    program: PathBuf,
    /// Removed when dropped.
    _folder: tempfile::TempDir,
}

impl OpenCopy {
    fn make() -> std::io::Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
        let program = folder.path().join("rig");
        std::fs::copy(std::env::current_exe()?, &program)?;
        Ok(Self { program, _folder: folder })
    }
}

fn as_root(access: &Access, scenario: fn()) -> Result<(), Failed> {
    if *access != Access::Root {
        return Err("this test needs root; `cargo xtask test` runs it".into());
    }
    scenario();
    Ok(())
}

fn as_user(access: &Access, program: &Path, name: &str, scenario: fn()) -> Result<(), Failed> {
    match access {
        Access::UserNamespace => {
            scenario();
            Ok(())
        }
        Access::Local(why) => {
            Err(format!("this test needs user namespaces, which are forbidden {why}").into())
        }
        Access::Root => as_nobody(program, name),
    }
}

fn as_nobody(program: &Path, name: &str) -> Result<(), Failed> {
    let test = format!("as_user::{name}");
    let output =
        Command::new(program).args(["--exact", &test]).current_dir("/").uid(NOBODY).gid(NOBODY).output()?;
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() && printed.contains("1 passed") { Ok(()) } else { Err(printed.into()) }
}
