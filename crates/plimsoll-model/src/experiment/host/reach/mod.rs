//! How a machine is reached that is there already: a file for each way. All of them end in a process whose standard input and output speak the
//! agent's frames.

use crate::experiment::prelude::*;

mod command;
mod kubernetes;
mod slurm;
mod ssh;

use std::net::IpAddr;

pub use kubernetes::Kubernetes;
pub use slurm::Slurm;
pub use ssh::Destinations;

/// How a machine is reached. Exactly one of the ways is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// By the system's own ssh(1), with its configuration, keys and jump hosts: `"admin@db1"`, a name of its configuration, or
    /// `"ssh://admin@db1:2222"`. It never asks for a password. Several (`["admin@c1", "admin@c2"]`) make a group of the host, one member on each.
    /// The agent is brought along where this very program is not installed there.
    Ssh(Destinations),
    /// By Slurm, which hands a machine out (`salloc`, for as long as the run goes on) and starts the agent on it (`srun`): `{}`, or
    /// `{ partition = "main", constraint = "ib" }`. With `count`, that number of machines. The agent is brought along as by ssh.
    Slurm(Box<Slurm>),
    /// By Kubernetes, in a pod that is there for as long as the run goes on (`kubectl create`), and in which the agent is started (`kubectl exec`):
    /// `{ image = "debian:12" }`. With `count`, that number of pods. The agent is brought along as by ssh.
    Kubernetes(Box<Kubernetes>),
    /// By a program and its arguments, which are not given to a shell: `["docker", "exec", "-i", "box", "plimsoll", "agent"]`. Its standard input
    /// and output are those of `plimsoll agent`.
    Command(Vec<String>),
}

impl Reach {
    /// The transport in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Ssh(destinations) => ssh::describe(destinations),
            Self::Slurm(slurm) => format!("reached by {}", slurm.describe()),
            Self::Kubernetes(pod) => format!("reached by {}", pod.describe()),
            Self::Command(command) => command::describe(command),
        }
    }

    /// First senseless part, and the expected one.
    pub(super) fn objection(&self) -> Option<(String, &'static str)> {
        match self {
            Self::Ssh(destinations) => ssh::objection(destinations),
            Self::Slurm(slurm) => slurm.objection(),
            Self::Kubernetes(pod) => pod.objection(),
            Self::Command(command) => command::objection(command),
        }
    }

    /// The way to one member of a group, from 1.
    pub(in crate::experiment) fn of_member(&self, number: u32) -> Self {
        match self {
            Self::Ssh(destinations) => Self::Ssh(destinations.of_member(number)),
            Self::Slurm(_) | Self::Kubernetes(_) | Self::Command(_) => self.clone(),
        }
    }

    /// How many machines it leads to.
    pub(super) fn machines(&self) -> usize {
        match self {
            Self::Ssh(destinations) => destinations.all().len(),
            Self::Slurm(_) | Self::Kubernetes(_) | Self::Command(_) => 1,
        }
    }

    /// Whether the agent is brought along where it is missing.
    pub(super) fn brings_agent(&self) -> bool {
        !matches!(self, Self::Command(_))
    }
}

/// The address of a machine: one for all, or one for each host that it is reached from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Address {
    /// All other hosts reach it there.
    One(IpAddr),
    /// Where each of these hosts reaches it.
    By(BTreeMap<String, IpAddr>),
}

impl Address {
    /// Where a host reaches it; `None` if nothing is said of that host.
    pub fn towards(&self, from: &str) -> Option<IpAddr> {
        match self {
            Self::One(address) => Some(*address),
            Self::By(addresses) => addresses.get(from).copied(),
        }
    }

    /// All addresses.
    pub fn all(&self) -> Vec<IpAddr> {
        match self {
            Self::One(address) => vec![*address],
            Self::By(addresses) => addresses.values().copied().collect(),
        }
    }
}

/// Permitted changes on a machine that is there already and stays when the run is over.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Allow {
    /// Settings below `/proc/sys` are changed, and put back at the end of the trial, also where the connection is lost. Needs root there.
    Sysctl,
    /// Programs of that machine are started: services that are programs, hooks, steps.
    Service,
    /// The agent may run as root there.
    Root,
}

impl Allow {
    /// Name in a file.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
