//! Providers of hosts: a narrow trait, so that trials can be tested without namespaces.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_host::remote::{Clock, ErrorKind, RemoteError};
use plimsoll_host::{
    AgentStderr, GuestSpec, HostError, HostSpec, LinkShape, LinkSpec, NatSpec, Patience, Rig, RigSpec,
    UndoProcess, VolumeSpec,
};
use plimsoll_model::experiment::{Experiment, GuestClock, LinkDirection, LinkShaper, link_states};
use plimsoll_model::frame::VolumePlace;
use plimsoll_model::units::Span;

/// The streams to the agent of a host.
pub struct Pipes {
    /// The agent's stdin.
    pub to: Box<dyn Write + Send>,
    /// The agent's stdout.
    pub from: Box<dyn Read + Send>,
    /// Its clock, if it is not the controller's.
    pub clock: Option<Clock>,
}

/// Error of a provider of hosts.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
    /// The host has nothing of its own to rebuild.
    #[error("{0}")]
    NotRebuildable(String),
    /// There is no such volume.
    #[error("there is no volume `{0}`")]
    NoSuchVolume(String),
    /// An error of the provider's own.
    #[error("{source}")]
    Failed {
        /// Its own error.
        source: Box<dyn std::error::Error + Send + Sync>,
        /// Advice for the user, if there is any.
        advice: Option<Cow<'static, str>>,
    },
}

impl ProviderError {
    /// Advice for the user, if there is any.
    pub fn advice(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Failed { advice, .. } => advice.clone(),
            Self::Interrupted | Self::NotRebuildable(_) | Self::NoSuchVolume(_) => None,
        }
    }
}

impl From<HostError> for ProviderError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Interrupted => Self::Interrupted,
            HostError::NotRebuildable(_) => Self::NotRebuildable(error.to_string()),
            HostError::NoSuchVolume(name) => Self::NoSuchVolume(name),
            error => Self::Failed { advice: error.advice(), source: error.into() },
        }
    }
}

impl From<RemoteError> for ProviderError {
    fn from(error: RemoteError) -> Self {
        match error.kind {
            ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::Failed { advice: error.advice(), source: error.into() },
        }
    }
}

/// A link that lost or delayed frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTrouble {
    /// The link, and what happened.
    pub what: String,
    /// Whether frames were lost; else they were late.
    pub lost_frames: bool,
}

/// Makes hosts.
pub trait HostProvider {
    /// Makes the hosts and links of an experiment, with an agent on each.
    ///
    /// # Errors
    /// When one cannot be made; none is left then.
    fn build(&self, experiment: &Experiment) -> Result<Box<dyn Hosts>, ProviderError>;

    /// Makes the kernel drop its clean caches.
    ///
    /// # Errors
    /// When it is not allowed.
    fn drop_caches(&self) -> Result<(), ProviderError>;

    /// Changes settings of the whole machine, each a dotted name and its value.
    ///
    /// # Errors
    /// When one of them cannot be changed; none is then.
    fn change_machine(&self, settings: &BTreeMap<String, String>) -> Result<Box<dyn Changed>, ProviderError>;

    /// The CPUs that hosts may use.
    ///
    /// # Errors When they cannot be found out.
    fn usable_cpus(&self) -> Result<Vec<u32>, ProviderError>;
}

/// Settings that are put back when this is dropped.
pub trait Changed {}

impl Changed for UndoProcess {}

/// Shaper of a link, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapedLink {
    /// The shaper, with the reason for the choice. Equal in all trials.
    pub what: String,
    /// Packet rate from which a link emulator would be the bottleneck itself, at the pace of this trial.
    pub pace: Option<String>,
}

/// The hosts of one rig. They are gone when this is dropped.
pub trait Hosts {
    /// The streams to a host's agent; once for each time that the host is made.
    ///
    /// # Errors
    /// When there is no such host, or its streams were taken already.
    fn pipes(&mut self, host: &str) -> Result<Pipes, ProviderError>;

    /// The address by which `from` reaches `to`.
    ///
    /// # Errors
    /// When there is no such host, or no way between the two.
    fn address(&self, from: &str, to: &str) -> Result<IpAddr, ProviderError>;

    /// Listening address of services on a host without a network of its own.
    ///
    /// # Errors
    /// When there is no such host, or its address is unknown.
    fn listen(&self, host: &str) -> Result<IpAddr, ProviderError> {
        self.address(host, host)
    }

    /// Notes about a host for readers of its figures.
    fn notes(&self, host: &str) -> Vec<String>;

    /// The addresses that a host has beside those of its links.
    ///
    /// # Errors
    /// When there is no such host.
    fn own_addresses(&self, host: &str) -> Result<Vec<IpAddr>, ProviderError>;

    /// Path of a volume on its host.
    ///
    /// # Errors
    /// When there is no such volume.
    fn volume(&self, name: &str) -> Result<VolumePlace, ProviderError>;

    /// Links that have lost or delayed frames so far.
    ///
    /// # Errors
    /// When a link cannot be asked.
    fn link_troubles(&mut self) -> Result<Vec<LinkTrouble>, ProviderError>;

    /// What shapes the links that do something to packets.
    ///
    /// # Errors
    /// When a link cannot be asked.
    fn shaped_links(&mut self) -> Result<Vec<ShapedLink>, ProviderError>;

    /// Changes what happens to packets on a link, the one at this place in the experiment, from now on.
    ///
    /// # Errors
    /// When the link cannot be changed.
    fn change_link(&mut self, place: usize, ways: &[LinkDirection; 2]) -> Result<(), ProviderError>;

    /// The inode of a host's network namespace, which distinguishes its processes from others'; `None` for a host
    /// without its own namespace.
    fn network_namespace(&self, host: &str) -> Option<u64>;

    /// Last lines of the console of a host that has ended by itself, or the reason why a machine is unreachable; empty for other hosts.
    fn last_lines(&mut self, host: &str) -> String;

    /// How the agent of a host ended by itself, in words; empty if unknown.
    fn end_in_words(&mut self, _host: &str) -> String {
        String::new()
    }

    /// Rebuilds a host; all of its processes and kernel state are gone.
    ///
    /// # Errors When it cannot be created again.
    fn rebuild(&mut self, host: &str) -> Result<(), ProviderError>;
}

/// Hosts made of namespaces, or of processes on loopback addresses where the experiment says so.
#[derive(Clone, Debug)]
pub struct Namespaces {
    /// The program to run as agent.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Block devices of this machine that may be written to.
    pub destroy: Vec<PathBuf>,
    /// Set when the user interrupts the run: hosts in construction are then given up.
    pub interrupt: Arc<AtomicBool>,
}

impl HostProvider for Namespaces {
    fn build(&self, experiment: &Experiment) -> Result<Box<dyn Hosts>, ProviderError> {
        let hosts = experiment.hosts.iter().map(|(name, host)| HostSpec {
            forward: host.forward,
            addresses: host.addresses,
            memory: host.memory.map(|memory| memory.0),
            loopback_mtu: host.loopback_mtu,
            nat: host.nat.as_ref().map(|nat| NatSpec {
                of: nat.of.clone(),
                ports: nat.ports.map(|ports| (ports.first, ports.last)),
            }),
            guest: host.kernel.as_ref().map(|kernel| GuestSpec {
                kernel: kernel.clone(),
                memory: host.guest_memory().0,
                cpus: host.guest_cpus(),
                append: host.append.clone().unwrap_or_default(),
                virtual_clock: host.clock == GuestClock::Virtual,
                boot_within: host.guest_boot_within().0,
                machine_files: experiment.needs_machine_files(name),
                modules: experiment.kernel_modules(name).into_iter().map(Into::into).collect(),
            }),
            ..HostSpec::new(name, host.kind)
        });
        let links = experiment.links.iter().enumerate().map(|(place, link)| LinkSpec {
            mtu: link.mtu,
            offload: link.offload,
            shape: link.ways().map(|way| shape(&way)),
            later: link_states(experiment, place)
                .iter()
                .skip(1)
                .map(|state| state.ways().map(|way| shape(&way)))
                .collect(),
            seed: link.seed.unwrap_or_else(rand::random),
            shaper: link.shaper,
            ..LinkSpec::new(&link.between[0], &link.between[1])
        });
        let may_destroy =
            |device: &Option<String>| device.as_ref().is_some_and(|d| self.destroy.iter().any(|ok| ok == d));
        let volumes = experiment.volumes.iter().map(|(name, volume)| VolumeSpec {
            name: name.clone(),
            volume: volume.clone(),
            destroy: may_destroy(&volume.device),
        });
        let spec = RigSpec {
            hosts: hosts.collect(),
            links: links.collect(),
            volumes: volumes.collect(),
            program: self.program.clone(),
            args: self.args.clone(),
            stderr: AgentStderr::Inherit,
            supervisor: None,
        };
        Ok(Box::new(Rig::build_unless(&self.interrupt, &spec)?))
    }

    fn drop_caches(&self) -> Result<(), ProviderError> {
        Ok(plimsoll_host::drop_caches()?)
    }

    fn change_machine(&self, settings: &BTreeMap<String, String>) -> Result<Box<dyn Changed>, ProviderError> {
        Ok(Box::new(plimsoll_host::change_machine(settings, Patience::usual(&self.interrupt))?))
    }

    fn usable_cpus(&self) -> Result<Vec<u32>, ProviderError> {
        Ok(plimsoll_host::usable_cpus()?)
    }
}

fn shape(way: &LinkDirection) -> LinkShape {
    let nanoseconds =
        |span: Option<Span>| span.map_or(0, |span| u64::try_from(span.0.as_nanos()).unwrap_or(u64::MAX));
    let usual = LinkShape::default();
    LinkShape {
        rate_bits: way.rate.map(|rate| rate.0),
        delay_ns: nanoseconds(way.delay),
        jitter_ns: nanoseconds(way.jitter),
        loss: way.loss.map_or(usual.loss, |share| share.0),
        loss_burst: way.loss_burst.unwrap_or(usual.loss_burst),
        reorder: way.reorder.map_or(usual.reorder, |share| share.0),
        queue: way.queue.unwrap_or(usual.queue),
    }
}

impl Hosts for Rig {
    fn pipes(&mut self, host: &str) -> Result<Pipes, ProviderError> {
        let pipes = Rig::pipes(self, host)?;
        Ok(Pipes { to: Box::new(pipes.stdin), from: Box::new(pipes.stdout), clock: None })
    }

    fn address(&self, from: &str, to: &str) -> Result<IpAddr, ProviderError> {
        Ok(self.address_towards(from, to)?)
    }

    fn notes(&self, host: &str) -> Vec<String> {
        // A missing host has no notes.
        Rig::notes(self, host).map(<[String]>::to_vec).unwrap_or_default()
    }

    fn own_addresses(&self, host: &str) -> Result<Vec<IpAddr>, ProviderError> {
        Ok(Rig::own_addresses(self, host)?)
    }

    fn volume(&self, name: &str) -> Result<VolumePlace, ProviderError> {
        Ok(Rig::volume(self, name)?)
    }

    fn link_troubles(&mut self) -> Result<Vec<LinkTrouble>, ProviderError> {
        let troubles = self.emulators()?.into_iter().filter_map(|(link, counts)| {
            let what = format!("the link {link}: {}", counts.trouble()?);
            Some(LinkTrouble { what, lost_frames: counts.overruns > 0 })
        });
        Ok(troubles.collect())
    }

    fn shaped_links(&mut self) -> Result<Vec<ShapedLink>, ProviderError> {
        let paces: BTreeMap<String, u64> = self
            .emulators()?
            .iter()
            .filter_map(|(link, counts)| Some((link.to_string(), counts.frames_per_second_at_most()?)))
            .collect();
        let links = self.shaping().map(|(link, shaping)| {
            let by = match shaping.by {
                LinkShaper::Netem => "the kernel's netem",
                LinkShaper::Emulator => "a link emulator of Plimsoll's own",
            };
            let why = shaping.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            let what = format!("the link {link} was shaped by {by}{why}");
            let pace = paces.get(&link.to_string());
            let pace = pace.map(|most| format!("would be the bottleneck from some {most} packets/s on"));
            ShapedLink { what, pace }
        });
        Ok(links.collect())
    }

    fn change_link(&mut self, place: usize, ways: &[LinkDirection; 2]) -> Result<(), ProviderError> {
        Ok(self.reshape(place, &ways.each_ref().map(shape))?)
    }

    fn network_namespace(&self, host: &str) -> Option<u64> {
        Rig::network_namespace(self, host)
    }

    fn last_lines(&mut self, host: &str) -> String {
        // A removed host has no console.
        Rig::last_lines(self, host).unwrap_or_default()
    }

    fn end_in_words(&mut self, host: &str) -> String {
        // The end of a removed host is unknown.
        Rig::end_in_words(self, host).unwrap_or_default()
    }

    fn rebuild(&mut self, host: &str) -> Result<(), ProviderError> {
        Ok(Rig::rebuild(self, host)?)
    }
}
