//! A host that is a virtual machine with a kernel of its own.
//!
//! ```text
//! supervisor ── init (process 1 of namespaces of the host's own) ── qemu ── kernel ── init of the guest ── agent
//!                  │ links: packet socket ⇄ datagrams ──────────────┘ │  │
//!                  └── status: what the guest's init says ────────────┘  │
//! controller ──────── frames, over qemu's stdin and stdout ──────────────┘
//! ```
//!
//! A guest stands where the agent of a namespace host would: it is a child of the host's init, and ends with it however the controller ends. The
//! host's links end in the namespace as always; what arrives there goes to the guest, frame by frame, and the namespace itself has no
//! address on them. So links are shaped, translated and joined as those of any other host.
//!
//! The guest's userland is this very executable, with the libraries that it is linked with, as the first process in an archive in memory. Where
//! programs of the machine are to run in it, it moves from there to the machine's files, which it cannot write to.

mod archive;
mod boot;
mod console;
mod exact;
pub(crate) mod init;
mod kernel;
mod machine;
mod modules;
mod network;
mod package;
mod pump;
mod share;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::HostError;
use crate::nat::Translation;
use crate::spec::{GuestSpec, HostSpec};
use crate::topology::Topology;
use crate::volume::in_guest::GuestVolume;

pub(crate) use boot::{boot, tell};
pub(crate) use machine::{Accelerator, INIT, Machine};
pub(crate) use share::outside::stage as share_stage;

/// Facts about a guest before its host is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Prepared {
    pub(crate) machine: Machine,
    pub(crate) modules: Option<PathBuf>,
    pub(crate) config: Option<PathBuf>,
    pub(crate) release: String,
    pub(crate) boot_within: Duration,
    /// The program that shows it the machine's files, where it is to have them.
    pub(crate) virtiofsd: Option<PathBuf>,
    /// Further entries of `modules` to load, besides those that every guest needs.
    pub(crate) more_modules: Vec<String>,
}

impl Prepared {
    /// Finds the kernel and the means to run it, before anything is made.
    pub(crate) fn find(host: &str, spec: &GuestSpec) -> Result<Self, HostError> {
        let failed = |source| HostError::Kernel { host: host.to_owned(), source: Box::new(source) };
        let kernel = kernel::Kernel::find(&spec.kernel).map_err(failed)?;
        let accelerator = machine::accelerator(host, spec)?;
        let virtiofsd = spec.machine_files.then(|| share::outside::daemon(host)).transpose()?;
        let machine = Machine {
            name: host.to_owned(),
            image: kernel.image,
            memory_mib: spec.memory >> 20,
            cpus: spec.cpus,
            append: spec.append.clone(),
            virtual_clock: spec.virtual_clock,
            accelerator,
        };
        Ok(Self {
            machine,
            modules: kernel.modules,
            config: kernel.config,
            release: kernel.release,
            boot_within: spec.boot_within,
            virtiofsd,
            more_modules: spec.modules.clone(),
        })
    }

    /// What a reader of its figures must know.
    pub(crate) fn note(&self) -> String {
        let Machine { accelerator, virtual_clock, .. } = &self.machine;
        let by = match accelerator {
            Accelerator::Kvm => "in QEMU with KVM".to_owned(),
            Accelerator::Emulation { why } => format!("in QEMU by software emulation ({why})"),
        };
        let clock = if *virtual_clock {
            "; its clock counts instructions (2 ns each), so its figures are lengths of paths in instructions, without caches and contention"
        } else {
            ""
        };
        format!("a guest with the kernel {} {by}{clock}", self.release)
    }
}

/// All that the host's init has to know of its guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) prepared: Prepared,
    pub(crate) inside: Inside,
}

/// What the guest's init is to make of its kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inside {
    host: String,
    forward: bool,
    interfaces: Vec<Interface>,
    addresses: Vec<Ipv4Addr>,
    /// Each the network, the length of its prefix, and the next host.
    routes: Vec<(Ipv4Addr, u8, Ipv4Addr)>,
    translation: Option<Translation>,
    /// File systems in its memory.
    volumes: Vec<GuestVolume>,
    /// Whether its clocks are to show the machine's time.
    machine_time: bool,
}

/// The end of a link, which has one name in the namespace and in the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Interface {
    name: String,
    hardware: [u8; 6],
    address: Ipv4Addr,
    mtu: Option<u32>,
}

impl Interface {
    /// As Linux writes it.
    fn hardware_text(&self) -> String {
        self.hardware.map(|byte| format!("{byte:02x}")).join(":")
    }
}

impl Orders {
    pub(crate) fn new(
        prepared: &Prepared,
        spec: &HostSpec,
        host: usize,
        topology: &Topology,
        translation: Option<Translation>,
        volumes: Vec<GuestVolume>,
    ) -> Self {
        let interfaces = topology.links_of(host).flat_map(|number| {
            let link = &topology.links[number];
            let own = link.ends.iter().enumerate().filter(|(_, end)| end.host == host);
            own.map(move |(n, end)| Interface {
                name: end.interface.clone(),
                hardware: hardware_address(number, n),
                address: end.address,
                mtu: link.mtu,
            })
        });
        let inside = Inside {
            host: spec.name.clone(),
            forward: spec.forward,
            interfaces: interfaces.collect(),
            addresses: topology.own_addresses(host).collect(),
            routes: topology.routes(host).iter().map(|route| (route.to, route.prefix, route.via)).collect(),
            translation,
            volumes,
            machine_time: !prepared.machine.virtual_clock,
        };
        Self { prepared: prepared.clone(), inside }
    }
}

/// Of QEMU's own range, and the same whenever the host is made, so that who knows it need not ask again.
fn hardware_address(link: usize, end: usize) -> [u8; 6] {
    let [.., high, low] = link.to_be_bytes();
    [0x52, 0x54, 0, high, low, u8::from(end == 1)]
}
