//! Makes and removes hosts: namespaces, links, addresses, and the processes of agents.
//!
//! A [`Rig`] is a set of hosts with the links between them. Each host runs one agent, a program whose standard streams are pipes to
//! the controller; this crate does not read them.
//!
//! ```text
//! controller ── supervisor ── init (process 1 of the host) ── agent ── whatever the agent starts
//!      └── control socket ──┘
//! ```
//!
//! **Nothing outlives the controller.** Init holds one end of a socket whose other end only the controller has. When the controller
//! dies, by whatever signal, the kernel closes that end, init exits, and the kernel kills all that is left in the process namespace;
//! the last process takes the other namespaces with it, and a network namespace its links. PR_SET_PDEATHSIG says the same a second
//! time. No namespace has a name under `/run/netns`, and no cgroup is made, so there is nothing to forget. [`leftovers`] finds what
//! was orphaned all the same, for instance because somebody killed the supervisor of a `local` host first.
//!
//! **Privilege.** As root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN, namespaces are made directly. An ordinary user's controller first
//! [`enter`]s a user namespace in which it is root, and which owns all hosts of the run.
//!
//! **Volumes** are made on loop devices whose files have no name and which detach themselves when nobody has them open, and are mounted in
//! the mount namespace of their host alone, so they go with it. Settings of the machine and of block devices, and folders outside of any
//! host, are undone by an [`UndoProcess`], a process that outlives the controller for that.
//!
//! **What the binary must do**, in this order, before it starts a thread: hand its arguments to [`stage`] and exit if that did
//! something; then, if it is the controller, call [`enter`].
//!
//! **What is deliberately absent**: the host's kernel settings are left at the kernel's own defaults, with these exceptions, which
//! would otherwise be inherited from the machine: `net.ipv4.ip_forward` is what the host's [`HostSpec::forward`] says, reverse path
//! filters are off, and links carry no IPv6, whose address detection and router solicitation would be packets that nobody sent. Every port
//! may be listened on without privileges (`net.ipv4.ip_unprivileged_port_start = 0`), since services have none.
//! Neighbour entries are resolved and expire as everywhere else; time-wait and rate limits are untouched. `/sys` shows the machine's.
#![warn(clippy::print_stderr)]

mod access;
mod allocator;
mod caches;
mod clock;
mod codec;
mod control;
mod counts;
mod emulator;
mod error;
mod forbidden;
mod group;
mod guard;
mod guest;
mod guest_error;
mod interrupt;
mod leftovers;
mod loopback;
mod machine;
mod nat;
mod netem;
mod network;
mod offload;
mod own;
mod own_process;
mod pace;
mod packet;
mod process;
pub mod queue;
mod reexec;
pub mod remote;
mod rig;
mod shape;
mod shaping;
mod slurm;
mod spec;
mod stage;
mod supervisor;
mod tend;
mod topology;
mod undo;
mod volume;

pub use access::{Access, enter};
pub use allocator::Allocator;
pub use caches::drop_caches;
pub use counts::EmulatorCounts;
pub use error::HostError;
pub use forbidden::{Forbidden, root_lacks};
pub use group::has_controller;
pub use guard::Guard;
pub use guest_error::{BootFailure, KernelError, PackageError};
pub use leftovers::{Leftover, MARKER, leftovers, own_mark};
pub use machine::{change_machine, usable_cpus};
pub use netem::missing as netem_missing;
pub use own_process::{fork_alone, leave_session_keyring};
pub use pace::emulator_pace;
pub use process::Pipes;
pub use rig::Rig;
pub use shaping::Shaping;
pub use spec::{
    AgentStderr, GuestSpec, HostSpec, LinkShape, LinkSpec, NatSpec, RigSpec, SpecError, VolumeSpec,
};
pub use stage::stage;
pub use undo::{Abandoned, AbandonedJournal, Patience, UndoProcess, abandoned_journals, private_folder};
