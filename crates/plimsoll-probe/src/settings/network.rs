//! Settings of the network namespace that the calling thread lives in: sysctls, interfaces, queueing disciplines.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_netlink::{SockProtocol, attribute, dump};

use super::{DEEPEST, sysctls};

/// Attributes of an interface (linux/if_link.h).
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_QDISC: u16 = 6;
const IFLA_GSO_MAX_SIZE: u16 = 41;
/// Bytes of `struct ifinfomsg`, behind which the attributes stand.
const IFINFOMSG: usize = 16;

/// The settings of the calling thread's network namespace.
#[must_use]
pub fn of_namespace() -> BTreeSet<String> {
    // The kernel shows the sysctls of the reader's own namespace.
    let folder = Path::new("/proc/sys");
    let mut found = sysctls(folder, &folder.join("net"), DEEPEST);
    let each = |answer: &[u8]| found.extend(answer.get(IFINFOMSG..).into_iter().flat_map(of_interface));
    // Without permission there are only the sysctls.
    let _ = dump(SockProtocol::NetlinkRoute, libc::RTM_GETLINK, &[0; IFINFOMSG], each);
    found
}

fn of_interface(attributes: &[u8]) -> BTreeSet<String> {
    let text = |wanted: u16| {
        let bytes = attribute(attributes, wanted)?.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    let number =
        |wanted: u16| Some(u32::from_ne_bytes(attribute(attributes, wanted)?.get(..4)?.try_into().ok()?));
    let Some(name) = text(IFLA_IFNAME) else { return BTreeSet::new() };
    let values = [
        ("MTU", number(IFLA_MTU).map(|it| it.to_string())),
        ("qdisc", text(IFLA_QDISC)),
        ("gso_max_size", number(IFLA_GSO_MAX_SIZE).map(|it| it.to_string())),
    ];
    // The names of interfaces differ between namespaces that are set alike.
    let found = values.into_iter().filter_map(|(what, value)| Some(format!("{what} {}", value?)));
    let offloads = plimsoll_inventory::offloads(&name).into_iter();
    found
        .chain(offloads.map(|(what, is_on)| format!("{what} {}", if is_on { "on" } else { "off" })))
        .collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_netlink::Attributes;

    use super::*;

    #[test]
    fn an_interface_is_read_from_its_attributes() {
        let answer = Attributes::new()
            .text(IFLA_IFNAME, "none-such")
            .bytes(IFLA_MTU, &600_u32.to_ne_bytes())
            .text(IFLA_QDISC, "netem");
        let found: Vec<String> = of_interface(answer.as_bytes()).into_iter().collect();
        assert_eq!(found, ["MTU 600", "qdisc netem"]);
    }

    #[test]
    fn this_namespace_has_sysctls_and_the_loopback_interface() {
        let found = of_namespace();
        for start in ["net.ipv4.tcp_rmem ", "MTU "] {
            assert!(found.iter().any(|it| it.starts_with(start)), "{start}");
        }
    }
}
