//! The description of a rig.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll_model::experiment::{HostKind, LinkShaper, Offloads, Volume};

pub use crate::shape::LinkShape;

/// Largest number of local hosts of a rig.
pub(crate) const MOST_LOCAL_HOSTS: usize = 254;

/// Number of links that fit into a /16.
pub(crate) const MOST_LINKS: usize = 1 << 14;

/// Largest number of networks of own addresses.
pub(crate) const MOST_NETWORKS: usize = 256;

/// Largest number of addresses in one, without those that a network reserves.
pub(crate) const MOST_ADDRESSES: usize = 250;

/// The longest host name that the kernel takes, in bytes (`__NEW_UTS_LEN`).
const LONGEST_NAME: usize = 64;
/// Smallest and largest MTU of an Ethernet link, in bytes (`ETH_MIN_MTU`, `ETH_MAX_MTU`).
const MTU: std::ops::RangeInclusive<u32> = 68..=65535;

/// Hosts, the links between them, and the program that runs in each.
#[derive(Clone, Debug, PartialEq)]
pub struct RigSpec {
    /// The hosts, each with a name of its own.
    pub hosts: Vec<HostSpec>,
    /// The links between namespace hosts.
    pub links: Vec<LinkSpec>,
    /// The volumes of the hosts.
    pub volumes: Vec<VolumeSpec>,
    /// The agent: a path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// The agent's arguments, without its own name.
    pub args: Vec<OsString>,
    /// Target of the agent's standard error.
    pub stderr: AgentStderr,
    /// The executable whose main calls [`stage`](crate::stage); this very executable when absent.
    pub supervisor: Option<PathBuf>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSpec {
    /// Its name (1 to 64 bytes), which is also the host name that its processes see.
    pub name: String,
    /// Its kind.
    pub kind: HostKind,
    /// Whether it forwards IPv4 packets between its links.
    pub forward: bool,
    /// Number of addresses beside those of its links (0 to 250); namespace hosts only.
    pub addresses: u32,
    /// Translation of the packets that it forwards.
    pub nat: Option<NatSpec>,
    /// The memory that its processes may use, in bytes; needs root. A guest's is its own.
    pub memory: Option<u64>,
    /// The guest's description, if the host is a guest.
    pub guest: Option<GuestSpec>,
    /// The largest packet of its loopback interface, in bytes; the kernel's default when absent.
    pub loopback_mtu: Option<u32>,
}

impl HostSpec {
    /// A host that has nothing but its links.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: HostKind) -> Self {
        Self {
            name: name.into(),
            kind,
            forward: false,
            addresses: 0,
            nat: None,
            memory: None,
            guest: None,
            loopback_mtu: None,
        }
    }
}

/// The description of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestSpec {
    /// Its kernel: `debian:VERSION`, the file of a Debian package, or a bzImage.
    pub kernel: String,
    /// Its memory, in bytes.
    pub memory: u64,
    /// Number of its processors.
    pub cpus: u32,
    /// Boot parameters beside Plimsoll's own (Documentation/admin-guide/kernel-parameters.rst).
    pub append: String,
    /// Whether its time is the number of instructions that it has executed.
    pub virtual_clock: bool,
    /// Deadline for the start of its agent.
    pub boot_within: Duration,
    /// Whether it has the files of the machine, so that programs of the machine run in it. Writes stay in the guest.
    pub machine_files: bool,
    /// Modules that its kernel needs beside those that every guest needs, where they are not built in.
    pub modules: Vec<String>,
}

/// A volume of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeSpec {
    /// Its name.
    pub name: String,
    /// Its description; [`Volume::on`] names a host of the rig.
    pub volume: Volume,
    /// Whether a block device of the machine may be written to; a device in use is then refused. Volumes made for the rig are always writable.
    pub destroy: bool,
}

/// Translation of source addresses to the host's own addresses beside those of its links, or without any, to the address of the outgoing
/// link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatSpec {
    /// Names of the hosts whose packets are translated.
    pub of: Vec<String>,
    /// First and last port of the pool; `None` keeps free ports.
    pub ports: Option<(u16, u16)>,
}

/// One virtual Ethernet link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// The host at one end.
    pub a: String,
    /// The host at the other end.
    pub b: String,
    /// The largest packet, in bytes (68 to 65535); the kernel's default, 1500, when absent.
    pub mtu: Option<u32>,
    /// The shapes of the directions from `a` to `b` and from `b` to `a`.
    pub shape: [LinkShape; 2],
    /// Seed of losses and jitter. Netem takes it from Linux 6.7 on.
    pub seed: u64,
    /// The shaper; by default the kernel where it can, and an emulator where not.
    pub shaper: Option<LinkShaper>,
    /// Offloads of its ends.
    pub offload: Option<Offloads>,
    /// Shapes that [`Rig::reshape`](crate::Rig::reshape) may give it while the rig exists.
    pub later: Vec<[LinkShape; 2]>,
}

impl LinkSpec {
    /// A link on which packets are as fast as the kernel.
    #[must_use]
    pub fn new(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self {
            a: a.into(),
            b: b.into(),
            mtu: None,
            shape: Default::default(),
            seed: 0,
            shaper: None,
            offload: None,
            later: Vec::new(),
        }
    }

    /// Whether the link shapes packets, now or later.
    pub fn is_shaped(&self) -> bool {
        !self.later.is_empty() || self.shape.iter().any(|shape| *shape != LinkShape::default())
    }
}

impl std::fmt::Display for LinkSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} - {}", self.a, self.b)
    }
}

/// Target of an agent's standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentStderr {
    /// The controller's own standard error.
    #[default]
    Inherit,
    /// A pipe, which [`Rig::pipes`](crate::Rig::pipes) returns.
    Pipe,
}

/// Reason why a rig cannot be made as described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Two hosts have one name.
    #[error("two hosts are called `{0}`")]
    SameName(String),
    /// The kernel would not take the name.
    #[error("host name `{0}`: a name has 1 to {LONGEST_NAME} bytes, none of them zero")]
    BadName(String),
    /// A link ends at a missing host.
    #[error("link {link}: there is no host `{host}`")]
    NoSuchHost {
        /// The link.
        link: String,
        /// The name that was not found.
        host: String,
    },
    /// A host translates the packets of a missing one.
    #[error("host {translator}: it is to translate packets of `{host}`, which is not there")]
    NoSuchSource {
        /// The host that translates.
        translator: String,
        /// The name that was not found.
        host: String,
    },
    /// A volume belongs to a missing host.
    #[error("volume {volume}: there is no host `{host}`")]
    NoSuchOwner {
        /// The volume.
        volume: String,
        /// The name that was not found.
        host: String,
    },
    /// A link ends where it begins.
    #[error("link {0}: a link joins two different hosts")]
    Loop(String),
    /// A local host has no links.
    #[error(
        "link {link}: `{host}` is a `local` host, which has no links of its own; make it a `namespace` host"
    )]
    LocalEnd {
        /// The link.
        link: String,
        /// The local host.
        host: String,
    },
    /// No Ethernet link can have this MTU.
    #[error("link {link}: an MTU of {mtu} bytes; it has to be {} to {}", MTU.start(), MTU.end())]
    BadMtu {
        /// The link.
        link: String,
        /// The requested value.
        mtu: u32,
    },
    /// There are not enough addresses.
    #[error("{count} {what}; a rig can have {most}")]
    TooMany {
        /// Name of the counted things.
        what: &'static str,
        /// Their number.
        count: usize,
        /// Their largest number.
        most: usize,
    },
}

impl RigSpec {
    /// Index in `hosts` of the host with this name.
    pub(crate) fn position(&self, host: &str) -> Option<usize> {
        self.hosts.iter().position(|h| h.name == host)
    }

    /// Refuses impossible descriptions before anything is made.
    pub(crate) fn validate(&self) -> Result<(), SpecError> {
        let mut seen = BTreeSet::new();
        for host in &self.hosts {
            if host.name.is_empty() || host.name.len() > LONGEST_NAME || host.name.contains('\0') {
                return Err(SpecError::BadName(host.name.clone()));
            }
            if !seen.insert(&host.name) {
                return Err(SpecError::SameName(host.name.clone()));
            }
        }
        self.links.iter().try_for_each(|link| self.validate_link(link))?;
        self.hosts.iter().try_for_each(|host| self.validate_addresses(host))?;
        for volume in &self.volumes {
            if self.position(&volume.volume.on).is_none() {
                return Err(SpecError::NoSuchOwner {
                    volume: volume.name.clone(),
                    host: volume.volume.on.clone(),
                });
            }
        }
        let with_addresses = self.hosts.iter().filter(|h| h.addresses > 0).count();
        at_most("hosts with addresses beside their links'", with_addresses, MOST_NETWORKS)?;
        let local = self.hosts.iter().filter(|h| !h.kind.own().network).count();
        at_most("local hosts", local, MOST_LOCAL_HOSTS)?;
        at_most("links", self.links.len(), MOST_LINKS)
    }

    fn validate_addresses(&self, host: &HostSpec) -> Result<(), SpecError> {
        at_most("addresses of a host", host.addresses as usize, MOST_ADDRESSES)?;
        let missing = host.nat.iter().flat_map(|nat| &nat.of).find(|of| self.position(of).is_none());
        missing.map_or(Ok(()), |of| {
            Err(SpecError::NoSuchSource { translator: host.name.clone(), host: of.clone() })
        })
    }

    fn validate_link(&self, link: &LinkSpec) -> Result<(), SpecError> {
        for end in [&link.a, &link.b] {
            let Some(position) = self.position(end) else {
                return Err(SpecError::NoSuchHost { link: link.to_string(), host: end.clone() });
            };
            if !self.hosts[position].kind.own().network {
                return Err(SpecError::LocalEnd { link: link.to_string(), host: end.clone() });
            }
        }
        if link.a == link.b {
            return Err(SpecError::Loop(link.to_string()));
        }
        match link.mtu {
            Some(mtu) if !MTU.contains(&mtu) => Err(SpecError::BadMtu { link: link.to_string(), mtu }),
            _ => Ok(()),
        }
    }
}

fn at_most(what: &'static str, count: usize, most: usize) -> Result<(), SpecError> {
    if count > most { Err(SpecError::TooMany { what, count, most }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, kind: HostKind) -> HostSpec {
        HostSpec::new(name, kind)
    }

    fn link(a: &str, b: &str, mtu: Option<u32>) -> LinkSpec {
        LinkSpec { mtu, ..LinkSpec::new(a, b) }
    }

    fn refusal(hosts: Vec<HostSpec>, links: Vec<LinkSpec>) -> Option<String> {
        let spec = RigSpec {
            hosts,
            links,
            volumes: vec![],
            program: "agent".into(),
            args: vec![],
            stderr: AgentStderr::Inherit,
            supervisor: None,
        };
        spec.validate().err().map(|e| e.to_string())
    }

    #[test]
    fn a_rig_that_cannot_be_made_is_refused_with_the_place_and_the_reason() {
        use HostKind::{Local, Namespace};
        let pair = || vec![host("a", Namespace), host("b", Namespace)];
        assert_eq!(refusal(pair(), vec![link("a", "b", Some(1500))]), None);
        let cases = [
            (vec![host("a", Local), host("a", Local)], vec![], "two hosts are called `a`"),
            (vec![host("", Local)], vec![], "host name ``: a name has 1 to 64 bytes"),
            (pair(), vec![link("a", "c", None)], "link a - c: there is no host `c`"),
            (pair(), vec![link("a", "a", None)], "link a - a: a link joins two different hosts"),
            (
                pair(),
                vec![link("a", "b", Some(67))],
                "link a - b: an MTU of 67 bytes; it has to be 68 to 65535",
            ),
            (
                vec![host("a", Namespace), host("l", Local)],
                vec![link("a", "l", None)],
                "`l` is a `local` host",
            ),
        ];
        for (hosts, links, expected) in cases {
            let refused = refusal(hosts, links).unwrap_or_default();
            assert!(refused.contains(expected), "expected `{expected}`, got `{refused}`");
        }
    }

    #[test]
    fn more_links_than_addresses_are_refused() {
        let hosts = vec![host("a", HostKind::Namespace), host("b", HostKind::Namespace)];
        let refused = refusal(hosts, vec![link("a", "b", None); MOST_LINKS + 1]);
        assert_eq!(refused.as_deref(), Some("16385 links; a rig can have 16384"));
    }
}
