//! The ethtool interface's plain questions (linux/ethtool.h): is this offload on? They need no privilege.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Commands of linux/ethtool.h that answer with one number, by the short names that ethtool(8) takes.
const OFFLOADS: [(&str, u32); 6] =
    [("rx", 0x14), ("tx", 0x16), ("sg", 0x18), ("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];

/// Work that the kernel or a card does in bulk for an interface of the calling thread's network namespace, by ethtool's names; empty if it
/// cannot be asked.
#[must_use]
pub fn offloads(interface: &str) -> BTreeMap<String, bool> {
    Asker::new().map(|asker| asker.offloads(interface)).unwrap_or_default()
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// A socket through which to ask.
pub(crate) struct Asker {
    socket: OwnedFd,
}

impl Asker {
    pub(crate) fn new() -> io::Result<Self> {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        Ok(Self { socket })
    }

    /// Answer of the interface; an unknown question is left out.
    pub(crate) fn offloads(&self, interface: &str) -> BTreeMap<String, bool> {
        let answers = OFFLOADS.iter().filter_map(|(name, command)| {
            let answer = self.ask(interface, *command).ok()?;
            Some(((*name).to_owned(), answer != 0))
        });
        answers.collect()
    }

    #[expect(unsafe_code, reason = "ioctl(2) has no safe form")]
    fn ask(&self, interface: &str, command: u32) -> io::Result<u32> {
        let mut value = Value { command, data: 0 };
        let mut name = [0; libc::IFNAMSIZ];
        if interface.len() >= name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in name.iter_mut().zip(interface.bytes()) {
            *to = libc::c_char::from_ne_bytes([from]);
        }
        let mut request = libc::ifreq {
            ifr_name: name,
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut value).cast() },
        };
        // SAFETY: SIOCETHTOOL takes a `struct ifreq` with a terminated name and a pointer to the struct that its command implies: for
        // all of OFFLOADS that is `struct ethtool_value`, which `Value` mirrors. Both live until the call returns.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(value.data) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_answers_and_an_interface_that_is_none_does_not() {
        let asker = Asker::new().expect("a socket");
        // The loopback's scatter-gather can't be turned off (drivers/net/loopback.c).
        assert_eq!(asker.offloads("lo").get("sg"), Some(&true));
        assert!(asker.offloads("no-such-one").is_empty());
        assert!(asker.offloads("a-name-that-is-longer-than-any").is_empty());
    }
}
