//! Process 1 of the guest.

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use libtest_mimic::{Arguments, ColorSetting, Trial};
use nix::mount::{MsFlags, mount};
use plimsoll_host::{Access, netem_missing};
use rustix::system::{RebootCommand, init_module, reboot};

use super::{ALL_WELL, image, stories};
use crate::emulators;

/// The argument that makes this program process 1 of a guest.
pub(crate) const ARGUMENT: &str = "test-guest";

/// Whether this process runs in a guest.
pub(crate) fn is_here() -> bool {
    std::env::args().nth(1).as_deref() == Some(ARGUMENT)
}

/// Runs the stories, prints their result on the console, and ends the guest.
pub(crate) fn run() -> ExitCode {
    match stories() {
        Ok(passed) => println!("{ALL_WELL}{passed}"),
        Err(error) => println!("the guest has failed: {error}"),
    }
    // qemu ends at a restart (`-no-reboot`).
    let refused = reboot(RebootCommand::Restart);
    // The end of process 1 is a panic of the kernel, which is an end of the guest, too.
    println!("the guest does not end: {refused:?}");
    ExitCode::FAILURE
}

fn stories() -> Result<u64, Box<dyn Error>> {
    prepare()?;
    let access = plimsoll_host::enter()?;
    if access != Access::Root {
        return Err(format!("process 1 is not root, but {access:?}").into());
    }
    if let Some(why) = netem_missing() {
        return Err(why.into());
    }
    let trials = emulators::ALL.iter().chain(stories::ALL).map(|(name, story)| {
        let story = *story;
        Trial::test(*name, move || {
            story();
            Ok(())
        })
    });
    let done = libtest_mimic::run(
        &Arguments { test_threads: Some(1), color: Some(ColorSetting::Never), ..Arguments::default() },
        trials.collect(),
    );
    if done.has_failed() { Err("not every story passed".into()) } else { Ok(done.num_passed) }
}

/// Prepares the file system that a program expects.
fn prepare() -> Result<(), Box<dyn Error>> {
    for (kind, at) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/dev/shm"), ("tmpfs", "/tmp")]
    {
        fs::create_dir_all(at)?;
        mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
            .map_err(|e| format!("{at}: {e}"))?;
    }
    let mut modules: Vec<_> = fs::read_dir(image::MODULES_AT)?.collect::<Result<_, _>>()?;
    modules.sort_by_key(fs::DirEntry::file_name);
    for module in modules {
        let path = module.path();
        init_module(&fs::read(&path)?, c"").map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}
