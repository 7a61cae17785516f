//! Switching off what a network card would do for the kernel, so that frames on a virtual link are as long as on a cable and carry their
//! own checksums (ethtool(8) -K; linux/ethtool.h).

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// `struct ethtool_value`
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// linux/sockios.h
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_SSG: u32 = 0x19;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;

/// Switches them all off at an interface of the calling thread's network namespace. Checksums come last: the others depend on them.
pub(crate) fn switch_off(interface: &str) -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    [ETHTOOL_SGRO, ETHTOOL_SGSO, ETHTOOL_STSO, ETHTOOL_SSG, ETHTOOL_STXCSUM]
        .into_iter()
        .try_for_each(|command| set(&socket, interface, command))
}

fn set(socket: &OwnedFd, interface: &str, command: u32) -> io::Result<()> {
    let mut value = Value { command, data: 0 };
    #[expect(unsafe_code, reason = "a C structure of numbers and a union of such")]
    // SAFETY: all bytes zero is a value of every field.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The last byte stays zero, which ends the name.
    let room = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *place = byte.cast_signed();
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    #[expect(unsafe_code, reason = "ethtool's requests have no safe form")]
    // SAFETY: the request and the value that it points to live across the call and have the layout that SIOCETHTOOL expects.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
