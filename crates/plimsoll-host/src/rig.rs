//! A rig: a set of existing hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::MetadataExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use plimsoll_model::frame::VolumePlace;

use crate::access;
use crate::counts::EmulatorCounts;
use crate::emulator::EmulatorProcess;
use crate::error::HostError;
use crate::group::{Allowance, Group};
use crate::guest;
use crate::interrupt::go_on;
use crate::loopback::LoopbackNetwork;
use crate::netem;
use crate::network::{Job, translation};
use crate::process::{Pipes, Process};
use crate::shaping::{self, Means, Shaping};
use crate::spec::{LinkShape, LinkSpec, RigSpec};
use crate::supervisor::HostOrders;
use crate::topology::Topology;
use crate::volume::Volumes;

/// Time by which the wait for a guest exceeds its own deadline.
const BOOT_SPARE: Duration = Duration::from_secs(30);

/// Hosts with their links and agents. Several rigs can exist at once; those with namespace hosts then have the same addresses.
/// Dropping a rig ends all of it.
#[derive(Debug)]
pub struct Rig {
    spec: RigSpec,
    names: Vec<String>,
    topology: Topology,
    /// Network of the local hosts, if there are any.
    local: Option<LoopbackNetwork>,
    /// Shapers, by link.
    shaped: BTreeMap<usize, (Shaping, Means)>,
    /// The emulators between hosts, by link.
    emulators: BTreeMap<usize, EmulatorProcess>,
    /// Processes by host; `None` once it was closed.
    processes: Vec<Option<Process>>,
    /// The control groups of hosts that have one. Dropped after the processes in them.
    groups: BTreeMap<usize, Group>,
    /// Volumes of the hosts. Dropped after the processes that use them.
    volumes: Volumes,
    /// Facts about the hosts that are guests.
    guests: BTreeMap<usize, guest::Prepared>,
    /// Set when the user interrupts it.
    interrupt: Arc<AtomicBool>,
}

impl Rig {
    /// Makes the hosts side by side, then the links, then starts the agents. When it returns, all agents run, and all connected hosts reach each
    /// other.
    ///
    /// # Errors
    /// When the description makes no sense, namespaces are forbidden, or the kernel refuses something. All parts made so far are removed.
    pub fn build(spec: &RigSpec) -> Result<Self, HostError> {
        Self::build_unless(&Arc::default(), spec)
    }

    /// Builds the rig unless `interrupt` is set, which also ends a rebuild of one of its hosts.
    ///
    /// # Errors
    /// As [`Self::build`]; [`HostError::Interrupted`] where it was interrupted.
    pub fn build_unless(interrupt: &Arc<AtomicBool>, spec: &RigSpec) -> Result<Self, HostError> {
        spec.validate()?;
        if spec.hosts.iter().any(|h| h.kind.own().network) {
            access::require_namespaces()?;
        }
        let mut guests = BTreeMap::new();
        for (place, host) in spec.hosts.iter().enumerate() {
            go_on(interrupt)?;
            if let Some(guest) = &host.guest {
                guests.insert(place, guest::Prepared::find(&host.name, guest)?);
            }
        }
        let mut shaped = BTreeMap::new();
        for (number, link) in spec.links.iter().enumerate() {
            shaped.extend(shaping::choose(link)?.map(|chosen| (number, chosen)));
        }
        let is_guest = |name: &str| spec.hosts.iter().any(|host| host.name == name && host.guest.is_some());
        let volumes = Volumes::make(&spec.volumes, is_guest, interrupt)?;
        let mut groups = BTreeMap::new();
        for (place, host) in spec.hosts.iter().enumerate() {
            go_on(interrupt)?;
            // QEMU limits a guest's memory.
            let memory = host.memory.filter(|_| host.guest.is_none());
            let allowance = Allowance { memory, devices: volumes.limits(&host.name) };
            if allowance.memory.is_some() && access::Access::detect()? != access::Access::Root {
                return Err(HostError::HostNeedsRoot(host.name.clone()));
            }
            groups.extend(Group::make(&host.name, &allowance)?.map(|group| (place, group)));
        }
        let any_local = spec.hosts.iter().any(|h| !h.kind.own().network);
        let mut rig = Self {
            names: spec.hosts.iter().map(|h| h.name.clone()).collect(),
            topology: Topology::new(spec),
            shaped,
            emulators: BTreeMap::new(),
            local: any_local.then(LoopbackNetwork::take).transpose()?,
            processes: spec.hosts.iter().map(|_| None).collect(),
            groups,
            volumes,
            guests,
            interrupt: Arc::clone(interrupt),
            spec: spec.clone(),
        };
        let hosts: Vec<usize> = (0..rig.names.len()).collect();
        rig.start(&hosts, (0..rig.topology.links.len()).collect())?;
        Ok(rig)
    }

    /// Starts these hosts and makes these links.
    fn start(&mut self, fresh: &[usize], links: Vec<usize>) -> Result<(), HostError> {
        let began = Instant::now();
        for host in fresh {
            go_on(&self.interrupt)?;
            let orders = self.orders(*host);
            let mut process =
                Process::start(&self.spec, &self.spec.hosts[*host], &orders, self.groups.get(host))?;
            if let Some(guest) = &orders.guest {
                process.note(guest.prepared.note());
            }
            self.processes[*host] = Some(process);
        }
        for host in fresh {
            go_on(&self.interrupt)?;
            self.process_mut(*host)?.wait_ready()?;
        }
        let by_emulator = |link: &usize| matches!(self.shaped.get(link), Some((_, Means::Emulator)));
        for link in links.iter().copied().filter(by_emulator) {
            go_on(&self.interrupt)?;
            // The one that was there before ended with its link.
            self.emulators.remove(&link);
            self.emulators.insert(link, EmulatorProcess::start(&self.spec, &self.spec.links[link])?);
        }
        let made = links.clone();
        go_on(&self.interrupt)?;
        self.make_network(fresh, links)?;
        for link in made {
            self.emulators.get_mut(&link).map_or(Ok(()), EmulatorProcess::go)?;
        }
        for host in fresh {
            self.process(*host)?.go()?;
        }
        let interrupt = Arc::clone(&self.interrupt);
        for host in fresh {
            // Its own deadline comes first, and has a better message.
            let boot = self.guests.get(host).map(|guest| (guest.boot_within * 2 + BOOT_SPARE, &*interrupt));
            self.process_mut(*host)?.wait_started(boot)?;
            tracing::debug!("host {} is up after {} ms", self.names[*host], began.elapsed().as_millis());
        }
        Ok(())
    }

    fn orders(&self, host: usize) -> HostOrders {
        let spec = &self.spec.hosts[host];
        let translation = || translation(&self.spec, &self.topology, host);
        let guest = self.guests.get(&host);
        HostOrders {
            host: spec.name.clone(),
            forward: spec.forward,
            mounts: self.volumes.mounts(&spec.name),
            guest: guest.map(|guest| {
                let volumes = self.volumes.of_guest(&spec.name);
                guest::Orders::new(guest, spec, host, &self.topology, translation(), volumes)
            }),
        }
    }

    fn make_network(&mut self, fresh: &[usize], links: Vec<usize>) -> Result<(), HostError> {
        let fresh: Vec<usize> = fresh.iter().copied().filter(|h| !self.is_local(*h)).collect();
        let mut namespaces = BTreeMap::new();
        let ends = links.iter().flat_map(|l| &self.topology.links[*l].ends).map(|end| end.host);
        for host in fresh.iter().copied().chain(ends).collect::<BTreeSet<_>>() {
            namespaces.insert(host, self.process_mut(host)?.network()?);
        }
        let (spec, names, topology) = (&self.spec, &self.names, &self.topology);
        let emulators = self.emulators.iter().filter(|(link, _)| links.contains(link));
        let emulators = emulators
            .map(|(link, emulator)| Ok((*link, emulator.network()?)))
            .collect::<Result<_, HostError>>()?;
        let shaped = &self.shaped;
        let interrupt = &self.interrupt;
        Job { spec, names, topology, namespaces, emulators, shaped, fresh, links, interrupt }.run()
    }

    /// Ends one host and recreates it, with the same name, links, addresses and routes, and a new agent. All of its
    /// kernel state is gone. Its neighbours keep theirs, except the links to this host and the routes over them, which
    /// are recreated as well.
    ///
    /// When it fails the host is left closed, and another call may succeed.
    ///
    /// # Errors
    /// For a local or missing host, and when the kernel refuses something.
    pub fn rebuild(&mut self, host: &str) -> Result<(), HostError> {
        let position = self.position(host)?;
        if self.is_local(position) {
            return Err(HostError::NotRebuildable(host.into()));
        }
        if let Some(mut process) = self.processes[position].take() {
            process.end()?;
        }
        // A neighbour that was closed has no end to attach a link to; it gets the link when it is rebuilt itself.
        let joined = |l: &usize| {
            self.topology.links[*l]
                .ends
                .iter()
                .all(|e| e.host == position || self.processes[e.host].is_some())
        };
        let links = self.topology.links_of(position).filter(joined).collect();
        let made = self.start(&[position], links);
        if made.is_err() {
            self.processes[position] = None;
        }
        made
    }

    /// The address of a host's first link. [`Self::address_towards`] is exact for hosts with several links.
    ///
    /// # Errors
    /// When there is no such host.
    pub fn address(&self, host: &str) -> Result<IpAddr, HostError> {
        let position = self.position(host)?;
        Ok(self.own_address(position).into())
    }

    /// The addresses that a host has beside those of its links.
    ///
    /// # Errors
    /// When there is no such host.
    pub fn own_addresses(&self, host: &str) -> Result<Vec<IpAddr>, HostError> {
        Ok(self.topology.own_addresses(self.position(host)?).map(IpAddr::V4).collect())
    }

    /// The address of `host` on the link over which packets from `from` arrive.
    ///
    /// # Errors
    /// When there is no such host, or no path.
    pub fn address_towards(&self, from: &str, host: &str) -> Result<IpAddr, HostError> {
        let (start, end) = (self.position(from)?, self.position(host)?);
        if start == end || (self.is_local(start) && self.is_local(end)) {
            return Ok(self.own_address(end).into());
        }
        let address = self.topology.address_towards(start, end).map(IpAddr::V4);
        address.ok_or_else(|| HostError::Unreachable { from: from.into(), to: host.into() })
    }

    /// Address of a namespace without links, which only reaches itself.
    fn own_address(&self, host: usize) -> Ipv4Addr {
        match &self.local {
            Some(network) if self.is_local(host) => {
                let nth = (0..host).filter(|h| self.is_local(*h)).count();
                network.address(nth)
            }
            _ => self.topology.address(host).unwrap_or(Ipv4Addr::LOCALHOST),
        }
    }

    /// The agent's standard streams. They can be taken once, and once more after a rebuild.
    ///
    /// # Errors
    /// When there is no such host, or they were taken before.
    pub fn pipes(&mut self, host: &str) -> Result<Pipes, HostError> {
        let position = self.position(host)?;
        let pipes = self.processes[position].as_mut().and_then(Process::take_pipes);
        pipes.ok_or_else(|| HostError::NoPipes(host.into()))
    }

    /// Path of a volume on its host, and whether the agent may write there.
    ///
    /// # Errors
    /// When there is no such volume.
    pub fn volume(&self, name: &str) -> Result<VolumePlace, HostError> {
        self.volumes.place(name).ok_or_else(|| HostError::NoSuchVolume(name.into()))
    }

    /// A process that is in all of the host's namespaces as long as it exists, by the id that the controller sees: the first process
    /// of a namespace host, the agent of a local one.
    ///
    /// # Errors
    /// When there is no such host, or it is closed.
    pub fn pid(&self, host: &str) -> Result<u32, HostError> {
        let process = self.process(self.position(host)?)?;
        process.pid().ok_or_else(|| HostError::Closed(host.into()))
    }

    /// The inode of the host's network namespace; `None` for a host that shares the machine's, or is missing.
    pub fn network_namespace(&self, host: &str) -> Option<u64> {
        let inode = |process: &str| Some(fs::metadata(format!("/proc/{process}/ns/net")).ok()?.ino());
        let of_host = inode(&self.pid(host).ok()?.to_string())?;
        (inode("self") != Some(of_host)).then_some(of_host)
    }

    /// The exit status of the host's agent, which ended the host; `None` while it runs. A signal counts as 128 and its
    /// number.
    ///
    /// # Errors
    /// When there is no such host, or it is closed.
    pub fn status(&mut self, host: &str) -> Result<Option<ExitStatus>, HostError> {
        let position = self.position(host)?;
        self.process_mut(position)?.status()
    }

    /// How the host's agent ended by itself, in words; empty while it runs.
    ///
    /// # Errors
    /// When there is no such host, or it is closed.
    pub fn end_in_words(&mut self, host: &str) -> Result<String, HostError> {
        let position = self.position(host)?;
        Ok(self.process_mut(position)?.end_in_words())
    }

    /// Notes for the user about deviations of this host, such as that `/proc` is the machine's.
    ///
    /// # Errors
    /// When there is no such host, or it is closed.
    pub fn notes(&self, host: &str) -> Result<&[String], HostError> {
        Ok(self.process(self.position(host)?)?.notes())
    }

    /// The last lines that the console of a guest showed, once it has ended by itself; empty for any other host.
    ///
    /// # Errors
    /// When there is no such host, or it is closed.
    pub fn last_lines(&mut self, host: &str) -> Result<String, HostError> {
        let position = self.position(host)?;
        Ok(self.process_mut(position)?.last_lines())
    }

    /// Shapers with their links.
    pub fn shaping(&self) -> impl Iterator<Item = (&LinkSpec, &Shaping)> {
        self.shaped.iter().map(|(link, (shaping, _))| (&self.spec.links[*link], shaping))
    }

    /// Changes the shape of a link, by its number in the rig's description, for later packets. Travelling packets keep their times where that is
    /// possible.
    ///
    /// # Errors
    /// When there is no such link, its description does not declare this change, or the kernel or the emulator refuses.
    pub fn reshape(&mut self, link: usize, shape: &[LinkShape; 2]) -> Result<(), HostError> {
        let spec = self.spec.links.get_mut(link).ok_or(HostError::NotReshapeable(link))?;
        let seed = spec.seed;
        spec.shape = shape.clone();
        let name = spec.to_string();
        let failed = |operation: &str, source| {
            let (link, operation) = (name.clone(), operation.to_owned());
            HostError::Link { link, operation, source }
        };
        match self.shaped.get(&link).map(|(_, means)| means.clone()) {
            Some(Means::Emulator) => {
                let emulator = self.emulators.get_mut(&link).ok_or(HostError::NotReshapeable(link))?;
                emulator.reshape(shape)
            }
            Some(Means::Netem(before)) => {
                let next =
                    shaping::qdiscs(shape, seed).map_err(|why| failed("netem", io::Error::other(why)))?;
                let ends = self.topology.links[link].ends.each_ref().map(|end| (end.host, end.index));
                for ((host, index), (before, next)) in ends.into_iter().zip(before.iter().zip(&next)) {
                    let namespace = self.process_mut(host)?.network()?;
                    netem::change_in(&namespace, index, before, next)
                        .map_err(|source| failed("changing what netem does", source))?;
                }
                if let Some((_, means)) = self.shaped.get_mut(&link) {
                    *means = Means::Netem(next);
                }
                Ok(())
            }
            None => Err(HostError::NotReshapeable(link)),
        }
    }

    /// Counts of the emulators since their start, with their links. Plain links and links that the kernel shapes have no emulator.
    ///
    /// # Errors
    /// When an emulator does not answer.
    pub fn emulators(&mut self) -> Result<Vec<(LinkSpec, EmulatorCounts)>, HostError> {
        let count = |emulator: &mut EmulatorProcess| Ok((emulator.link().clone(), emulator.counts()?));
        self.emulators.values_mut().map(count).collect()
    }

    /// Ends all hosts side by side, and waits until their processes are gone. Closing it again does nothing.
    ///
    /// # Errors
    /// The first error; the other hosts are ended all the same.
    pub fn close(&mut self) -> Result<(), HostError> {
        self.volumes.lift_limits();
        let began = Instant::now();
        let mut processes: Vec<Process> = self.processes.iter_mut().filter_map(Option::take).collect();
        processes.iter_mut().for_each(Process::request_end);
        let ended: Vec<_> = processes.iter_mut().map(Process::end).collect();
        self.emulators.clear();
        if !ended.is_empty() {
            tracing::debug!("all hosts are gone after {} ms", began.elapsed().as_millis());
        }
        let ended: Result<(), HostError> = ended.into_iter().collect();
        self.groups.clear();
        // No process uses the volumes any more.
        ended.and(self.volumes.close())
    }

    fn position(&self, host: &str) -> Result<usize, HostError> {
        self.spec.position(host).ok_or_else(|| HostError::NoSuchHost(host.into()))
    }

    fn is_local(&self, host: usize) -> bool {
        !self.spec.hosts[host].kind.own().network
    }

    fn process(&self, host: usize) -> Result<&Process, HostError> {
        self.processes[host].as_ref().ok_or_else(|| HostError::Closed(self.names[host].clone()))
    }

    fn process_mut(&mut self, host: usize) -> Result<&mut Process, HostError> {
        self.processes[host].as_mut().ok_or_else(|| HostError::Closed(self.names[host].clone()))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // Callers that need the error call `close`; dropping the hosts ends them in any case.
        let _unheard = self.close();
    }
}
