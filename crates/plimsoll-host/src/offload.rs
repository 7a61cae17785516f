//! Offloads of a network card (ethtool(8) -K; linux/ethtool.h). On shaped links they are off, so frames are as long as on a cable and carry their
//! own checksums; elsewhere the experiment decides.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use plimsoll_model::experiment::Offloads;

/// `struct ethtool_value`
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// A single offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Feature {
    /// Generic segmentation offload.
    Gso,
    /// Generic receive offload.
    Gro,
    /// TCP segmentation offload.
    Tso,
    /// Large receive offload.
    Lro,
}

impl Feature {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// The requested offloads. A feature that needs another one comes after it.
pub(crate) fn asked(offloads: &Offloads) -> impl Iterator<Item = (Feature, bool)> {
    let Offloads { gso, gro, tso, lro } = *offloads;
    let all = [(Feature::Gso, gso), (Feature::Gro, gro), (Feature::Tso, tso), (Feature::Lro, lro)];
    all.into_iter().filter_map(|(feature, on)| Some((feature, on?)))
}

/// Switches one of them at an interface of the calling thread's network namespace.
pub(crate) fn switch(interface: &str, feature: Feature, on: bool) -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    let value = u32::from(on);
    match feature {
        // Segmentation depends on scattered buffers, and those on checksums.
        Feature::Gso | Feature::Tso => {
            if on {
                ask(&socket, interface, ETHTOOL_STXCSUM, 1)?;
                ask(&socket, interface, ETHTOOL_SSG, 1)?;
            }
            let command = if feature == Feature::Gso { ETHTOOL_SGSO } else { ETHTOOL_STSO };
            ask(&socket, interface, command, value).map(drop)
        }
        Feature::Gro => ask(&socket, interface, ETHTOOL_SGRO, value).map(drop),
        Feature::Lro => {
            let flags = ask(&socket, interface, ETHTOOL_GFLAGS, 0)?;
            let wanted = if on { flags | ETH_FLAG_LRO } else { flags & !ETH_FLAG_LRO };
            if wanted == flags { Ok(()) } else { ask(&socket, interface, ETHTOOL_SFLAGS, wanted).map(drop) }
        }
    }
}

/// linux/sockios.h
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_SSG: u32 = 0x19;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_SFLAGS: u32 = 0x26;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETH_FLAG_LRO: u32 = 1 << 15;

/// Switches them all off at an interface of the calling thread's network namespace. Checksums come last: the others depend on them.
pub(crate) fn switch_off(interface: &str) -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    [ETHTOOL_SGRO, ETHTOOL_SGSO, ETHTOOL_STSO, ETHTOOL_SSG, ETHTOOL_STXCSUM]
        .into_iter()
        .try_for_each(|command| ask(&socket, interface, command, 0).map(drop))
}

/// Reply of an interface to a command with a number.
fn ask(socket: &OwnedFd, interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut value = Value { command, data };
    #[expect(unsafe_code, reason = "a C structure of numbers and a union of such")]
    // SAFETY: all bytes zero is a value of every field.
    let mut request: libc::ifreq = unsafe { zeroed() };
    // The last byte stays zero, which ends the name.
    let room = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *place = libc::c_char::from_ne_bytes([byte]);
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    #[expect(unsafe_code, reason = "ethtool's requests have no safe form")]
    // SAFETY: the request and the value that it points to live across the call and have the layout that SIOCETHTOOL expects.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done == 0 { Ok(value.data) } else { Err(io::Error::last_os_error()) }
}
