//! The side of the guest's init: stops the guest when its agent is idle, and hands on what it finds in memory then.

use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::thread;

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::{GO_ON, IDLE, MEMORY, TO_WRITE};

/// The PCI ids of QEMU's device (QEMU, docs/specs/pci-ids.rst), and the file of the memory that is of use.
const MEMORY_DEVICE: (&str, &str, &str) = ("0x1af4", "0x1110", "resource2");

/// All that it takes.
pub(in super::super) struct Inside {
    idle: File,
    port: File,
    agent: PipeWriter,
    memory: Mapped,
    /// How many bytes it writes to stand still.
    to_write: u32,
    /// The bytes of an unfinished frame from the port.
    begun: Vec<u8>,
}

impl Inside {
    /// Finds the devices.
    ///
    /// # Returns The pump, and the pipe for the agent's standard input.
    pub(in super::super) fn new(port: File) -> Result<(Self, PipeReader), String> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| format!("{what}: {error}")
        };
        mkfifo(IDLE, Mode::S_IRUSR | Mode::S_IWUSR).map_err(|errno| failed(IDLE)(errno.into()))?;
        // For writing as well, so that it never is at its end.
        let idle = File::options().read(true).write(true).open(IDLE).map_err(failed(IDLE))?;
        let (reader, agent) = io::pipe().map_err(failed("making the agent's pipe"))?;
        let memory = device(MEMORY_DEVICE).and_then(|file| Mapped::open(&file, MEMORY as usize));
        let memory = memory.map_err(failed("finding the memory of its orders (ivshmem)"))?;
        // The thread that does its work has the right as well: it is made afterwards.
        port::allow().map_err(failed("being allowed to write to the port that stops it (ioperm)"))?;
        let to_write = memory.number(TO_WRITE as usize);
        Ok((Self { idle, port, agent, memory, to_write, begun: Vec::new() }, reader))
    }

    /// Does its work in a thread from now on, until the controller has nothing more to say.
    pub(in super::super) fn start(self) -> io::Result<()> {
        thread::Builder::new().name("orders".into()).spawn(move || self.run()).map(drop)
    }

    fn run(mut self) {
        // Those of process 1 are for the thread that waits for them.
        SigSet::all().thread_block().ok();
        // Its end closes the agent's input, and the agent ends.
        while self.step().unwrap_or(false) {}
    }

    /// Waits for one thing to happen; false where nothing more will.
    fn step(&mut self) -> io::Result<bool> {
        let mut wait = [
            PollFd::new(self.idle.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.port.as_fd(), PollFlags::POLLIN),
        ];
        poll(&mut wait, PollTimeout::NONE)?;
        let [idle, port] = wait.map(|fd| fd.revents().is_some_and(|events| !events.is_empty()));
        if port && !self.take_urgent()? {
            return Ok(false);
        }
        if idle {
            self.idle.read_exact(&mut [0])?;
            (0..self.to_write).for_each(|_| port::write());
            // The guest stands still until the frame comes, and its clock with it.
            let frame = self.memory.frame();
            if frame == GO_ON {
                return Ok(true);
            }
            self.agent.write_all(&frame)?;
            return Ok(!frame.is_empty());
        }
        Ok(true)
    }

    /// Hands on the frames that are whole; false at the end of the port.
    fn take_urgent(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        let length = self.port.read(&mut buffer)?;
        self.begun.extend(&buffer[..length]);
        while let Some(frame) = whole(&mut self.begun) {
            self.agent.write_all(&frame)?;
        }
        Ok(length > 0)
    }
}

/// The first frame of these bytes, with its length before it, once all of it is there.
fn whole(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?) as usize + 4;
    (bytes.len() >= length).then(|| bytes.drain(..length).collect())
}

/// The file of a PCI device's memory.
fn device((vendor, kind, file): (&str, &str, &str)) -> io::Result<PathBuf> {
    let is = |folder: &Path, name: &str, id: &str| {
        fs::read_to_string(folder.join(name)).is_ok_and(|own| own.trim_end() == id)
    };
    let mut devices = fs::read_dir("/sys/bus/pci/devices")?.flatten().map(|entry| entry.path());
    let found = devices.find(|folder| is(folder, "vendor", vendor) && is(folder, "device", kind));
    let folder = found.ok_or_else(|| io::Error::other(format!("there is no PCI device {vendor}:{kind}")))?;
    // No driver has done it.
    fs::write(folder.join("enable"), "1")?;
    Ok(folder.join(file))
}

/// Memory of a device.
struct Mapped {
    start: NonNull<u8>,
    length: usize,
}

impl Mapped {
    fn open(path: &Path, length: usize) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        #[expect(unsafe_code, reason = "only mmap gives a device's memory")]
        // SAFETY: The kernel chooses where it is, so that it is nobody else's memory. It stays for as long as the process, which is
        // process 1.
        let start = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| io::Error::other("it is mapped at 0"))?;
        Ok(Self { start, length })
    }

    /// A byte of it.
    fn byte(&self, at: usize) -> u8 {
        assert!(at < self.length, "a frame is longer than the memory");
        #[expect(unsafe_code, reason = "what the other side has written since the compiler does not know")]
        // SAFETY: It is mapped, and this long.
        unsafe {
            self.start.add(at).read_volatile()
        }
    }

    /// Four bytes of it, the lowest first.
    fn number(&self, at: usize) -> u32 {
        u32::from_le_bytes([0, 1, 2, 3].map(|n| self.byte(at + n)))
    }

    /// The frame in it, behind its length.
    fn frame(&self) -> Vec<u8> {
        let length = self.number(0) as usize;
        (4..length + 4).map(|at| self.byte(at)).collect()
    }
}

// SAFETY: It is memory of the process, and belongs to who has it.
#[expect(unsafe_code, reason = "a pointer says nothing of who may have it")]
unsafe impl Send for Mapped {}

/// The port of PCs that QEMU's `isa-debugcon` listens to.
#[cfg(target_arch = "x86_64")]
mod port {
    use std::arch::asm;
    use std::io;

    use nix::libc;

    use super::super::PORT;

    /// Lets this thread write to it, and those that it makes.
    pub(super) fn allow() -> io::Result<()> {
        #[expect(unsafe_code, reason = "only ioperm gives the right to a port")]
        // SAFETY: It changes no memory.
        let result = unsafe { libc::ioperm(PORT.into(), 1, 1) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Writes a byte to it.
    pub(super) fn write() {
        #[expect(unsafe_code, reason = "a port is written to by an instruction of its own")]
        // SAFETY: The thread is allowed to, and behind the port nothing is that could change memory which the compiler knows of.
        unsafe {
            asm!("out dx, al", in("dx") PORT, in("al") 0_u8, options(nostack, preserves_flags));
        }
    }
}

/// Other machines have no such port.
#[cfg(not(target_arch = "x86_64"))]
mod port {
    use std::io;

    pub(super) fn allow() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn write() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_handed_on_whole() {
        let mut bytes = vec![0, 0, 0, 2, b'{', b'}', 0, 0, 0];
        assert_eq!(whole(&mut bytes), Some(vec![0, 0, 0, 2, b'{', b'}']));
        assert_eq!(whole(&mut bytes), None);
        bytes.extend([1, b'x']);
        assert_eq!(whole(&mut bytes), Some(vec![0, 0, 0, 1, b'x']));
        assert_eq!(bytes, [0; 0]);
    }
}
