//! Loopback addresses for hosts of kind `local`.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

use crate::error::HostError;

/// How many rigs with local hosts can exist at once.
const MOST_RIGS: u8 = 255;

/// The networks that rigs of this process hold now.
static TAKEN: Mutex<BTreeSet<u8>> = Mutex::new(BTreeSet::new());

/// A rig's own network, 127.77.N.0/24. It is given back when dropped, so the same trial has the same addresses every time.
#[derive(Debug)]
pub(crate) struct LoopbackNetwork(u8);

impl LoopbackNetwork {
    /// Takes the lowest network that is free.
    pub(crate) fn take() -> Result<Self, HostError> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let free = (0..MOST_RIGS).find(|n| !taken.contains(n));
        let free = free.ok_or(HostError::NoLocalAddresses(usize::from(MOST_RIGS)))?;
        taken.insert(free);
        Ok(Self(free))
    }

    /// The address of the rig's nth host; the description's check has seen to it that there are not too many.
    pub(crate) fn address(&self, nth: usize) -> Ipv4Addr {
        let last = u8::try_from(nth + 1).expect("a rig has at most 254 local hosts");
        Ipv4Addr::new(127, 77, self.0, last)
    }
}

impl Drop for LoopbackNetwork {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rigs_that_exist_at_once_have_different_addresses_and_the_next_one_has_the_first_again() {
        let (one, two) = (LoopbackNetwork::take().expect("free"), LoopbackNetwork::take().expect("free"));
        assert_ne!(one.address(0), two.address(0));
        assert_ne!(one.address(0), one.address(253));
        let first = one.address(0);
        drop(one);
        assert_eq!(LoopbackNetwork::take().expect("free").address(0), first);
    }
}
