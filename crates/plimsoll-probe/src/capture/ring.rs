//! The ring of blocks that the kernel fills with packets (Documentation/networking/packet_mmap.rst, linux/if_packet.h).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::net::if_::if_nametoindex;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Settings;
use super::filter::program;

/// A block of the ring, in bytes: a power of two, and a multiple of every page size.
const BLOCK: usize = 1 << 20;
/// Milliseconds after which the kernel passes on a block that is not full.
const RETIRE_MS: u32 = 20;
/// Size of a frame for the kernel; in this version frames have any length, and only the sum is checked.
const FRAME: u32 = 2048;
/// The fewest blocks: one is read while others are filled.
const LEAST_BLOCKS: usize = 4;

/// One packet in the ring.
pub(super) struct RingPacket<'a> {
    /// When it passed, in nanoseconds since the epoch.
    pub(super) time_ns: u64,
    /// How long it was, without its link header.
    pub(super) length: u32,
    /// Captured part of the packet.
    pub(super) bytes: &'a [u8],
}

/// A ring that the kernel fills.
pub(super) struct Ring {
    socket: OwnedFd,
    memory: *mut u8,
    blocks: usize,
    /// The block whose turn it is.
    next: usize,
}

// SAFETY: the memory belongs to this ring alone, and is unmapped only when it is dropped.
#[expect(unsafe_code, reason = "a raw pointer is not Send by itself")]
unsafe impl Send for Ring {}

impl Ring {
    /// A ring on an interface. Only what the filter lets through gets into it.
    pub(super) fn open(interface: &str, wanted: &Settings) -> io::Result<Self> {
        let index = if_nametoindex(CString::new(interface)?.as_c_str())?;
        let socket = open_socket()?;
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as libc::c_int))?;
        let blocks = wanted.ring.div_ceil(BLOCK).max(LEAST_BLOCKS);
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME,
            tp_frame_nr: (BLOCK / FRAME as usize * blocks) as u32,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(&socket, libc::PACKET_RX_RING, &request)?;
        attach(&socket, &program(&wanted.ports, wanted.snap, interface == "lo"))?;
        let memory = map(&socket, BLOCK * blocks)?;
        let ring = Self { socket, memory, blocks, next: 0 };
        // Nothing arrives before this: the socket was made for no protocol.
        ring.bind(index)?;
        Ok(ring)
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        #[expect(unsafe_code, reason = "nix cannot make the address of an interface")]
        // SAFETY: all zeroes are a value of this type, and the kernel reads exactly its size.
        let done = unsafe {
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
            address.sll_ifindex = index.cast_signed();
            let length = size_of_val(&address) as libc::socklen_t;
            libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length)
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until a block can be read, or the time is over.
    pub(super) fn wait(&self, most: Duration) -> io::Result<()> {
        let mut waiting = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN | PollFlags::POLLERR)];
        match poll(&mut waiting, PollTimeout::try_from(most).unwrap_or(PollTimeout::ZERO)) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the kernel has surely handed over the block that it was filling.
    pub(super) fn let_last_block_come() {
        std::thread::sleep(Duration::from_millis(2 * u64::from(RETIRE_MS)));
    }

    /// Passes the packets of the next block to `each`, and returns the block to the kernel. False if no block is ready.
    ///
    /// # Errors
    /// Errors of `each`; the rest of the block is then skipped.
    pub(super) fn next_block(
        &mut self,
        mut each: impl FnMut(RingPacket<'_>) -> io::Result<()>,
    ) -> io::Result<bool> {
        let block = self.block();
        let status = block.status();
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return Ok(false);
        }
        let result = block.packets().try_for_each(&mut each);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        result.map(|()| true)
    }

    /// How many packets found no room, since the last time that this was asked.
    pub(super) fn dropped(&self) -> u64 {
        let mut stats = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut length = size_of_val(&stats) as libc::socklen_t;
        #[expect(unsafe_code, reason = "nix does not have this option")]
        // SAFETY: the kernel writes at most the size of the structure.
        let done = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut length,
            )
        };
        if done == 0 { u64::from(stats.tp_drops) } else { 0 }
    }

    fn block(&self) -> Block {
        #[expect(unsafe_code, reason = "the ring is shared with the kernel")]
        // SAFETY: `next` is less than the number of blocks, all of which are mapped.
        let start = unsafe { self.memory.add(self.next * BLOCK) };
        Block { start }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "what was mapped by hand is unmapped by hand")]
        // SAFETY: this is the mapping that `open` made, and nothing refers to it any more.
        unsafe {
            libc::munmap(self.memory.cast(), self.blocks * BLOCK);
        }
    }
}

/// A block that belongs to this process for the moment, or to the kernel.
///
/// `struct tpacket_block_desc`: version, offset of private data, and `struct tpacket_hdr_v1`: status, number of packets, offset of the
/// first packet.
struct Block {
    start: *mut u8,
}

/// Where the fields stand in a block.
const BLOCK_STATUS: usize = 8;
const BLOCK_PACKETS: usize = 12;
const BLOCK_FIRST: usize = 16;
/// Where the fields stand in a packet's `struct tpacket3_hdr`.
const PACKET_NEXT: usize = 0;
const PACKET_SECONDS: usize = 4;
const PACKET_NANOSECONDS: usize = 8;
const PACKET_KEPT: usize = 12;
const PACKET_LENGTH: usize = 16;
const PACKET_DATA: usize = 24;

impl Block {
    /// The word by which the block changes hands.
    fn status(&self) -> &AtomicU32 {
        #[expect(unsafe_code, reason = "the ring is shared with the kernel")]
        // SAFETY: it is mapped and aligned, and the kernel too changes it as one word.
        unsafe {
            AtomicU32::from_ptr(self.start.add(BLOCK_STATUS).cast())
        }
    }

    /// The packets of a block that belongs to this process.
    fn packets(&self) -> impl Iterator<Item = RingPacket<'_>> {
        #[expect(unsafe_code, reason = "the ring is shared with the kernel")]
        // SAFETY: the block is mapped, and the kernel does not write to it until its status says that it is the kernel's again.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.cast_const(), BLOCK) };
        let mut at = word(bytes, BLOCK_FIRST) as usize;
        (0..word(bytes, BLOCK_PACKETS)).map_while(move |_| {
            let header = bytes.get(at..)?;
            let packet = packet(header)?;
            at += word(header, PACKET_NEXT) as usize;
            Some(packet)
        })
    }
}

/// The packet whose header is at the start of `bytes`; `None` if it would end beyond them.
fn packet(bytes: &[u8]) -> Option<RingPacket<'_>> {
    let data = bytes.get(PACKET_DATA..PACKET_DATA + 2)?;
    let data = usize::from(u16::from_ne_bytes([data[0], data[1]]));
    let seconds = u64::from(word(bytes, PACKET_SECONDS));
    Some(RingPacket {
        time_ns: seconds * 1_000_000_000 + u64::from(word(bytes, PACKET_NANOSECONDS)),
        length: word(bytes, PACKET_LENGTH),
        bytes: bytes.get(data..data + word(bytes, PACKET_KEPT) as usize)?,
    })
}

/// The word at an offset; zero past the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

/// A socket for packets without their link headers, of no protocol yet.
fn open_socket() -> io::Result<OwnedFd> {
    #[expect(unsafe_code, reason = "nix makes no such socket without a protocol")]
    // SAFETY: socket(2) returns a new descriptor without another owner.
    let fd = unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    Ok(fd)
}

/// Sets an option of packet sockets.
fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    set_at(socket, libc::SOL_PACKET, option, value)
}

fn set_at<T>(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    #[expect(unsafe_code, reason = "nix does not have these options")]
    // SAFETY: the kernel reads exactly the size of the value.
    let done = unsafe {
        let length = size_of::<T>() as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const *value).cast(), length)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets only what the program accepts through.
fn attach(socket: &OwnedFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    set_at(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Maps the ring.
fn map(socket: &OwnedFd, length: usize) -> io::Result<*mut u8> {
    #[expect(unsafe_code, reason = "the ring is shared with the kernel")]
    // SAFETY: a new mapping, wherever the kernel puts it.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            socket.as_raw_fd(),
            0,
        )
    };
    if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(memory.cast()) }
}
