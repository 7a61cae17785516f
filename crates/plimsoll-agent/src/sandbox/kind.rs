//! What each kind of program needs beyond the default: nobody's rights, no capabilities, a read-only tree.

use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};

/// A kind of program that enters the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// A program of the file: service, load, hook or step.
    Program,
    /// nginx, HAProxy, httpd and their like.
    Server,
    /// Postfix, whose master starts its parts as several users.
    Postfix,
    /// A program with `privileged = true`, or one that the agent itself needs.
    Privileged,
    /// A built-in service.
    Service,
    /// A built-in relay that leaks routing rules.
    LeakingRelay,
    /// The far end of a bulk load.
    BulkService,
    /// A built-in web server with a `root`.
    WebFolder,
    /// A load that is a process.
    Load,
    /// A load of kernel paths that change the network.
    NetworkLoad,
}

/// The row of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The name that `check` and the documentation give the kind.
    pub name: &'static str,
    /// Whether the code is someone else's: it then gets Landlock and the system call filter.
    pub is_foreign: bool,
    /// Whether it runs as nobody where the agent can become another user.
    pub becomes_nobody: bool,
    /// Capabilities that it keeps, by their names in capabilities(7).
    pub capabilities: &'static [&'static str],
    /// Reason for what it keeps.
    pub why: &'static str,
}

const SERVICE: &[&str] = &["NET_BIND_SERVICE", "SYS_RESOURCE"];
const FOREIGN: Need = Need {
    name: "program of the file (service, load, hook, step)",
    is_foreign: true,
    becomes_nobody: true,
    capabilities: &[],
    why: "",
};
const BUILT_IN: Need = Need {
    name: "built-in service",
    is_foreign: false,
    becomes_nobody: true,
    capabilities: SERVICE,
    why: "low ports; more descriptors than the limit allows",
};

impl Kind {
    #[cfg(test)]
    const ALL: [Self; 10] = [
        Self::Program,
        Self::Server,
        Self::Postfix,
        Self::Privileged,
        Self::Service,
        Self::LeakingRelay,
        Self::BulkService,
        Self::WebFolder,
        Self::Load,
        Self::NetworkLoad,
    ];

    /// The table.
    pub(crate) const fn need(self) -> Need {
        match self {
            Self::Program => FOREIGN,
            Self::Server => Need { name: "nginx, HAProxy, httpd", ..FOREIGN },
            Self::Postfix => Need {
                name: "Postfix",
                becomes_nobody: false,
                capabilities: &[
                    "CHOWN",
                    "DAC_OVERRIDE",
                    "FOWNER",
                    "KILL",
                    "NET_BIND_SERVICE",
                    "SETGID",
                    "SETUID",
                    "SYS_RESOURCE",
                ],
                why: "its master starts each part as the part's own user, and gives it its queue",
                ..FOREIGN
            },
            Self::Privileged => Need {
                name: "privileged = true",
                is_foreign: false,
                becomes_nobody: false,
                capabilities: &["all of the user's"],
                why: "the file asks for all rights, and the user allowed them",
            },
            Self::Service => BUILT_IN,
            Self::LeakingRelay => Need {
                name: "relay with leak = \"routing-rule\"",
                capabilities: &["NET_ADMIN", "NET_BIND_SERVICE", "SYS_RESOURCE"],
                why: "adds routing rules to its host",
                ..BUILT_IN
            },
            Self::BulkService => Need {
                name: "far end of a bulk load",
                capabilities: &["NET_ADMIN", "NET_BIND_SERVICE", "SYS_RESOURCE"],
                why: "sets a congestion control that is not open to all users",
                ..BUILT_IN
            },
            Self::WebFolder => Need { name: "web with a root", ..BUILT_IN },
            Self::Load => Need {
                name: "load in a process of its own",
                becomes_nobody: false,
                capabilities: &["SYS_RESOURCE"],
                why: "more processes and descriptors than the limit allows",
                ..BUILT_IN
            },
            Self::NetworkLoad => Need {
                name: "kernel load of a path with rules",
                becomes_nobody: false,
                capabilities: &["NET_ADMIN", "SYS_RESOURCE"],
                why: "adds rules to its host's network",
                ..BUILT_IN
            },
        }
    }
}

impl Need {
    pub(super) fn set(&self) -> CapabilitySet {
        let bits = CapabilitySet::all().iter_names();
        bits.filter(|(name, _)| self.capabilities.contains(name)).map(|(_, bit)| bit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_of_the_table_exists() {
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Privileged) {
            let need = kind.need();
            assert_eq!(need.set().iter().count(), need.capabilities.len(), "{}", need.name);
        }
    }
}
