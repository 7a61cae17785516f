//! The virtual machine: QEMU's command line, and whether KVM can be used.

use std::io::{self, Write};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::share::TAG;
use super::{GuestSpec, Interface, exact};
use crate::error::HostError;

const QEMU: &str = "qemu-system-x86_64";
/// Where the executable is in a guest.
pub(super) const PROGRAM: &str = "/plimsoll";
/// The name by which the kernel starts it as the guest's first process. The name is no argument: the kernel passes on
/// all boot parameters that it does not know (Documentation/admin-guide/kernel-parameters.rst).
pub(crate) const INIT: &str = "/plimsoll-guest";
/// The names of the guest's ports: frames of the agent, and what its init says.
pub(super) const FRAMES: &str = "plimsoll.frames";
pub(super) const STATUS: &str = "plimsoll.status";
/// A guest that does not run within this time does not run: it takes a tenth of it where KVM works.
const KVM_PATIENCE: Duration = Duration::from_secs(3);

/// How instructions of a guest are executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Accelerator {
    /// By the processor.
    Kvm,
    /// By a translator of instructions (TCG), some ten to fifty times as slow.
    Emulation {
        /// Why not by the processor.
        why: String,
    },
}

/// A virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) image: PathBuf,
    /// Memory for the kernel and for programs, without that of Plimsoll's own files.
    pub(crate) memory_mib: u64,
    pub(crate) cpus: u32,
    pub(crate) append: String,
    pub(crate) virtual_clock: bool,
    pub(crate) accelerator: Accelerator,
}

/// Memory that a kernel and its early allocations take while it unpacks the archive, in MiB.
const UNPACKING_MIB: u64 = 96;

/// What QEMU inherits, by number.
pub(super) struct Descriptors<'i> {
    pub(super) archive: RawFd,
    /// Size of the archive in bytes.
    pub(super) archive_size: u64,
    pub(super) console: RawFd,
    pub(super) status: RawFd,
    /// With a virtual clock, the memory for orders, and the pipe that the guest writes to until it stands still.
    pub(super) exact: Option<[RawFd; 2]>,
    /// The socket to the daemon that shows the machine's files, where there is one.
    pub(super) share: Option<RawFd>,
    /// Datagram sockets, one for each interface.
    pub(super) links: Vec<(RawFd, &'i Interface)>,
}

impl Machine {
    /// Memory of the machine: the experiment's `memory`, plus the size of the archive. While the kernel unpacks the archive, the packed and
    /// the unpacked files are both in memory.
    fn whole_memory_mib(&self, archive_size: u64) -> u64 {
        let archive = archive_size.div_ceil(1 << 20);
        (self.memory_mib + archive).max(2 * archive + UNPACKING_MIB)
    }

    /// QEMU, with the agent's frames on its standard streams.
    pub(super) fn command(&self, descriptors: &Descriptors<'_>) -> Command {
        let memory_mib = self.whole_memory_mib(descriptors.archive_size);
        let mut command = Command::new(QEMU);
        command
            .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
            .args(["-name", &self.name])
            .args(["-m", &memory_mib.to_string(), "-smp", &self.cpus.to_string()])
            .arg("-kernel")
            .arg(&self.image)
            .args(["-initrd", &format!("/proc/self/fd/{}", descriptors.archive)])
            .args(["-append", &self.parameters()])
            .args(["-serial", &format!("file:/proc/self/fd/{}", descriptors.console)])
            // What the guest says goes out at once, within the instruction that says it, where its clock counts instructions.
            .args([
                "-device",
                if self.virtual_clock { "virtio-serial-pci,ioeventfd=off" } else { "virtio-serial-pci" },
            ])
            .args(["-chardev", "stdio,id=frames,signal=off"])
            .args(["-device", &format!("virtserialport,chardev=frames,name={FRAMES}")])
            .args(["-chardev", &format!("socket,id=status,fd={}", descriptors.status)])
            .args(["-device", &format!("virtserialport,chardev=status,name={STATUS}")]);
        match descriptors.share {
            None => command.args(["-machine", "pc"]),
            // The daemon reads and writes the guest's memory itself, so that has to be shared with it (docs/system/devices/vhost-user.rst).
            Some(share) => command
                .args(["-machine", "pc,memory-backend=memory"])
                .args(["-object", &format!("memory-backend-memfd,id=memory,size={memory_mib}M,share=on")])
                .args(["-chardev", &format!("socket,id=share,fd={share}")])
                .args(["-device", &format!("vhost-user-fs-pci,chardev=share,tag={TAG}")]),
        };
        match self.accelerator {
            Accelerator::Kvm => command.args(["-accel", "kvm", "-cpu", "host"]),
            Accelerator::Emulation { .. } => command.args(["-accel", "tcg", "-cpu", "max"]),
        };
        if self.virtual_clock {
            // An instruction takes 2 ns; where all sleep, the clock leaps to the next timer (docs/devel/tcg-icount.rst). The machine's time
            // is not to be seen, and chance begins alike in each run.
            command.args(["-icount", "shift=1,sleep=off", "-rtc", "base=2000-01-01,clock=vm", "-seed", "1"]);
        }
        if let Some([memory, still]) = descriptors.exact {
            let size = exact::MEMORY;
            let memory =
                format!("memory-backend-file,id=orders,share=on,size={size},mem-path=/proc/self/fd/{memory}");
            let port = format!("isa-debugcon,iobase={},chardev=still", exact::PORT);
            command.args(["-object", &memory, "-device", "ivshmem-plain,memdev=orders"]).args([
                "-chardev",
                &format!("file,id=still,path=/proc/self/fd/{still}"),
                "-device",
                &port,
            ]);
        }
        for (n, (descriptor, interface)) in descriptors.links.iter().enumerate() {
            let mtu = interface
                .mtu
                .filter(|mtu| *mtu != 1500)
                .map_or_else(String::new, |mtu| format!(",host_mtu={mtu}"));
            let hardware = interface.hardware_text();
            command
                .args(["-netdev", &format!("socket,id=link{n},fd={descriptor}")])
                .args(["-device", &format!("virtio-net-pci,netdev=link{n},mac={hardware},romfile={mtu}")]);
        }
        command
    }

    /// The kernel's command line. What the user says comes after what Plimsoll says, so that it counts.
    fn parameters(&self) -> String {
        // A panic ends the guest at once. Addresses of code and data differ from boot to boot, and with them the length of paths.
        let fixed = if self.virtual_clock {
            " nokaslr norandmaps randomize_kstack_offset=off random.trust_cpu=on"
        } else {
            ""
        };
        let append = &self.append;
        // In tmpfs, unpacked files could take half of the memory at most (init/do_mounts.c).
        format!("console=ttyS0 quiet panic=-1 rootfstype=ramfs rdinit={INIT}{fixed} {append}")
    }
}

/// Where a program stands in `PATH`.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The accelerator that QEMU uses for the guest; an error if QEMU is missing.
pub(super) fn accelerator(host: &str, spec: &GuestSpec) -> Result<Accelerator, HostError> {
    if in_path(QEMU).is_none() {
        return Err(HostError::NoQemu(host.to_owned()));
    }
    if spec.virtual_clock {
        return Ok(Accelerator::Emulation { why: "which alone can count its instructions".into() });
    }
    static PROBED: OnceLock<Accelerator> = OnceLock::new();
    Ok(PROBED.get_or_init(probe_kvm).clone())
}

/// Whether the processor really runs a guest: that the device can be opened does not tell, as where a hypervisor only pretends to nest.
fn probe_kvm() -> Accelerator {
    let emulation = |why: String| Accelerator::Emulation { why };
    let device = Path::new("/dev/kvm");
    if let Err(error) = std::fs::File::options().read(true).write(true).open(device) {
        return emulation(format!("{}: {error}", device.display()));
    }
    match run_probe("kvm", KVM_PATIENCE) {
        Ok(Some(status)) if status.code() == Some(PROBE_RAN) => Accelerator::Kvm,
        Ok(Some(status)) => emulation(format!("with KVM a guest of five instructions ended with {status}")),
        Ok(None) => emulation(format!(
            "with KVM a guest of five instructions does not run within {} s",
            KVM_PATIENCE.as_secs()
        )),
        Err(error) => emulation(format!("KVM could not be tried: {error}")),
    }
}

/// What QEMU exits with when the guest writes 0x10 to the port of `isa-debug-exit`: twice that, and 1.
const PROBE_RAN: i32 = 0x21;

/// Boots a guest that is one sector, which ends it at once, and says how QEMU ended; `None` if it had not ended in time.
fn run_probe(accelerator: &str, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let mut sector = tempfile::NamedTempFile::new()?;
    let mut bytes = [0; 512];
    // mov al, 0x10; out 0xf4, al; hlt
    bytes[..5].copy_from_slice(&[0xb0, 0x10, 0xe6, 0xf4, 0xf4]);
    bytes[510..].copy_from_slice(&[0x55, 0xaa]);
    sector.write_all(&bytes)?;
    let drive = format!("file={},format=raw,if=floppy", sector.path().display());
    let child = Command::new(QEMU)
        .args(["-accel", accelerator, "-nodefaults", "-no-user-config", "-display", "none", "-m", "4"])
        .args(["-drive", &drive, "-device", "isa-debug-exit,iobase=0xf4,iosize=1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    wait_within(child, patience)
}

/// How it ended; it is killed where it has not within this time.
fn wait_within(mut child: Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let give_up = Instant::now() + patience;
    while Instant::now() < give_up {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(virtual_clock: bool) -> Machine {
        Machine {
            name: "firewall".into(),
            image: "/boot/vmlinuz".into(),
            memory_mib: 256,
            cpus: 1,
            append: "init_on_alloc=1".into(),
            virtual_clock,
            accelerator: Accelerator::Emulation { why: "a test".into() },
        }
    }

    #[test]
    fn what_the_user_says_comes_after_plimsolls_own_parameters() {
        let parameters = machine(false).parameters();
        let place = |word: &str| parameters.find(word).unwrap_or_else(|| panic!("{word} in {parameters}"));
        assert!(place("panic=-1") < place("init_on_alloc=1"));
        assert!(!parameters.contains("nokaslr"));
        assert!(machine(true).parameters().contains(" nokaslr "));
    }

    #[test]
    fn the_archive_fits_beside_the_memory_that_was_asked_for() {
        let whole = |archive_mib: u64| machine(false).whole_memory_mib(archive_mib << 20);
        assert_eq!([whole(0), whole(20)], [256, 276]);
        // An archive larger than the memory asked for: twice its size, and room to unpack it.
        assert_eq!(whole(300), 696);
    }

    #[test]
    #[ignore = "needs qemu-system-x86"]
    fn the_probe_tells_a_guest_that_runs_from_one_that_does_not() {
        let ran = run_probe("tcg", Duration::from_secs(60)).expect("qemu starts");
        assert_eq!(ran.and_then(|status| status.code()), Some(PROBE_RAN));
        let refused = run_probe("no-such", Duration::from_secs(60)).expect("qemu starts");
        assert_ne!(refused.and_then(|status| status.code()), Some(PROBE_RAN));
        assert_eq!(run_probe("tcg", Duration::ZERO).expect("qemu starts"), None);
    }
}
