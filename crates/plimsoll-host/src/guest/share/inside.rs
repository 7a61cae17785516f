//! The side of the guest's init: makes the machine's files the root of all that is started in the guest.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::unistd::{chdir, chroot};

use super::TAG;

/// Where the machine's files are, before they are at the root.
const MACHINE: &str = "/machine";
/// Where what the guest writes is kept.
const WRITTEN: &str = "/written";
/// Where both are seen as one.
const BOTH: &str = "/both";
/// What moves along.
const KEPT: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Where the agent's program is afterwards.
const AGENT: &str = "/run/plimsoll-agent";
/// The program by which the kernel would load modules. The machine's are those of another kernel.
const MODPROBE: &str = "/proc/sys/kernel/modprobe";

/// Moves this process to the machine's files, over which lies what the guest writes. The agent comes along, and the configuration of the kernel.
///
/// # Returns
/// Where the agent's program is now.
pub(in super::super) fn enter(agent: &Path, config: Option<&Path>) -> Result<PathBuf, String> {
    let at = |what: &str| {
        let what = what.to_owned();
        move |errno: Errno| format!("{what}: {errno}")
    };
    make(&[MACHINE, WRITTEN, BOTH])?;
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NODEV;
    mount(Some(TAG), MACHINE, Some("virtiofs"), flags, None::<&str>).map_err(at(
        "mounting the machine's files (virtiofs; CONFIG_VIRTIO_FS, built in or as a module beside the kernel)",
    ))?;
    mount(Some("written"), WRITTEN, Some("tmpfs"), MsFlags::MS_NODEV, Some("mode=755"))
        .map_err(at("mounting a file system in memory"))?;
    let [upper, work] = ["upper", "work"].map(|name| format!("{WRITTEN}/{name}"));
    make(&[&upper, &work])?;
    let options = format!("lowerdir={MACHINE},upperdir={upper},workdir={work}");
    mount(Some("machine"), BOTH, Some("overlay"), MsFlags::MS_NODEV, Some(options.as_str())).map_err(at(
        "mounting what is written over the machine's files (overlay; CONFIG_OVERLAY_FS, built in or as a module beside the kernel)",
    ))?;
    let moved = |place: &str| PathBuf::from(format!("{BOTH}{place}"));
    // The kernel's own settings, while their place is known.
    fs::write(MODPROBE, "\n").ok();
    let program = moved(AGENT);
    let of_program = |error| format!("making a place for the agent: {error}");
    fs::create_dir_all(program.parent().unwrap_or(&program)).map_err(of_program)?;
    File::create(&program).map_err(of_program)?;
    mount(Some(agent), &program, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .map_err(at("taking the agent along"))?;
    if let Some(config) = config {
        make(&[&moved("/boot").to_string_lossy()])?;
        fs::copy(config, moved(&config.to_string_lossy()))
            .map_err(|error| format!("taking {} along: {error}", config.display()))?;
    }
    for place in KEPT {
        make(&[&moved(place).to_string_lossy()])?;
        mount(Some(place), &moved(place), None::<&str>, MsFlags::MS_MOVE, None::<&str>)
            .map_err(at(&format!("moving {place}")))?;
    }
    // As switch_root(8) does it: a mount over the first root, which can be neither moved nor left, is the root of all from then on.
    chdir(BOTH).map_err(at("entering the machine's files"))?;
    mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>).map_err(at("moving the root"))?;
    chroot(".").and_then(|()| chdir("/")).map_err(at("changing the root"))?;
    Ok(AGENT.into())
}

/// Makes folders that all may enter, where they are not there.
fn make(folders: &[&str]) -> Result<(), String> {
    for folder in folders.iter().filter(|folder| !Path::new(folder).exists()) {
        fs::create_dir_all(folder)
            .and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(0o755)))
            .map_err(|error| format!("making {folder}: {error}"))?;
    }
    Ok(())
}
