//! The stories of links once more, in a guest whose kernel has netem.
//!
//! ```text
//! this program ── qemu, which emulates ── Debian's cloud kernel ── /rig test-guest, as process 1 ── the stories
//! ```
//!
//! The machine that runs the tests may have no netem, and is seldom quiet. The guest has netem, and its clock counts the instructions that
//! it executes (`-icount`, docs/devel/tcg-icount.rst of qemu): whatever else the machine does delays nothing in there, and where all in
//! there sleep, the clock leaps to the next timer. `cargo xtask test` fetches the kernel.

mod image;
pub(crate) mod init;
mod stories;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;

use crate::emulators;

/// Folder of `cargo xtask test` for the package of the kernel.
const KERNEL: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/guest-kernel");
/// Time limit: a few times the duration beside a build.
const PATIENCE: Duration = Duration::from_secs(300);
/// Path of this program in the guest.
const PROGRAM: &str = "/rig";
/// Beginning of the guest's last line after success.
const ALL_WELL: &str = "the guest has netem, and of the stories passed: ";

/// Boots the guest, and fails unless it says that its kernel has netem and that every story passed.
pub(crate) fn links_are_shaped_by_netem() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let [initramfs, console] = ["initramfs", "console"].map(|name| folder.path().join(name));
    let package = Path::new(KERNEL);
    fs::write(&initramfs, image::make(package)?)?;
    let ended = boot(&image::kernel(package)?, &initramfs, &console)?.wait()?;
    let text = String::from_utf8_lossy(&fs::read(&console)?).into_owned();
    let expected = format!("{ALL_WELL}{}", emulators::ALL.len() + stories::ALL.len());
    if ended && text.lines().any(|line| line.trim_end() == expected) {
        return Ok(());
    }
    let why = if ended {
        "it did not say that all went well".to_owned()
    } else {
        format!("it had not ended after {} s", PATIENCE.as_secs())
    };
    Err(format!("the guest failed: {why}. Its console:\n{text}").into())
}

/// A running guest. It is killed on drop, and when the thread that started it ends, however this process dies.
struct Guest(Child);

fn boot(kernel: &Path, initramfs: &Path, console: &Path) -> Result<Guest, Failed> {
    let console = File::create(console)?;
    let guest = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "qemu-system-x86_64"])
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"])
        .args(["-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", "256"])
        // An instruction takes 1 ns, and the machine's time is hidden. Random numbers begin alike in each run, and go on alike in most.
        .args(["-icount", "shift=0,sleep=off", "-rtc", "base=2000-01-01,clock=vm", "-seed", "1"])
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(initramfs)
        .arg("-append")
        .arg(format!("console=ttyS0 quiet panic=-1 mitigations=off rdinit={PROGRAM} -- {}", init::ARGUMENT))
        .stdin(Stdio::null())
        .stderr(console.try_clone()?)
        .stdout(console)
        .spawn()
        .map_err(|error| format!("cannot start setpriv: {error}"))?;
    Ok(Guest(guest))
}

impl Guest {
    fn wait(mut self) -> std::io::Result<bool> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if self.0.try_wait()?.is_some() {
                return Ok(true);
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(false)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ended_before = self.0.kill();
        let _unwaitable = self.0.wait();
    }
}
