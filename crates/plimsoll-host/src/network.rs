//! Links, addresses and routes, by rtnetlink(7) inside the hosts' network namespaces.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::thread;

use netlink_packet_route::link::{InfoData, InfoVeth, LinkMessage};
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};
use rtnetlink::{Handle, LinkMessageBuilder, LinkUnspec, LinkVeth, RouteMessageBuilder};

use crate::error::HostError;
use crate::interrupt::go_on;
use crate::nat::{self, Translation};
use crate::shaping::{Means, Shaping};
use crate::spec::RigSpec;
use crate::topology::{End, Link, PREFIX, Topology};
use crate::{emulator, netem, offload};

/// The kernel's index of the loopback interface, in every namespace.
pub(crate) const LOOPBACK: u32 = 1;

/// The part of a rig to create, and where.
pub(crate) struct Job<'a> {
    /// The description of the rig.
    pub(crate) spec: &'a RigSpec,
    /// The names of all hosts, for errors.
    pub(crate) names: &'a [String],
    /// All links and ways of the rig.
    pub(crate) topology: &'a Topology,
    /// The network namespaces of the fresh hosts and of their neighbours, by host.
    pub(crate) namespaces: BTreeMap<usize, OwnedFd>,
    /// Hosts that have nothing yet, not even loopback.
    pub(crate) fresh: Vec<usize>,
    /// The network namespaces of the emulators that are made into links, by link.
    pub(crate) emulators: BTreeMap<usize, OwnedFd>,
    /// Shapers, by link.
    pub(crate) shaped: &'a BTreeMap<usize, (Shaping, Means)>,
    /// Links to make. Their leftovers at hosts that are not fresh are removed first.
    pub(crate) links: Vec<usize>,
    /// Set when the user interrupts it.
    pub(crate) interrupt: &'a AtomicBool,
}

impl Job<'_> {
    /// Makes the links with their addresses and routes, in a thread of its own, which leaves the caller's namespace alone and ends with the call.
    pub(crate) fn run(&self) -> Result<(), HostError> {
        let failed = |source| HostError::Process { operation: "starting a thread to set up links", source };
        thread::scope(|scope| {
            let worker = thread::Builder::new().name("host-network".into());
            let worker = worker.spawn_scoped(scope, || self.run_here()).map_err(failed)?;
            worker.join().unwrap_or_else(|_| Err(failed(io::Error::other("it panicked"))))
        })
    }

    fn run_here(&self) -> Result<(), HostError> {
        self.make()?;
        for link in &self.links {
            let means = self.shaped.get(link).map(|(_, means)| means);
            let ends_in_guest = self.topology.links[*link].ends.iter().any(|end| self.is_guest(end.host));
            if means.is_some() || ends_in_guest {
                self.shape(*link, means)?;
            }
        }
        for link in &self.links {
            self.offload(*link)?;
        }
        self.fresh.iter().filter(|host| !self.is_guest(**host)).try_for_each(|host| self.translate(*host))
    }

    fn make(&self) -> Result<(), HostError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let failed = |source| HostError::Process { operation: "setting up netlink", source };
        runtime.map_err(failed)?.block_on(async {
            let hosts = self.connect()?;
            for host in &self.fresh {
                go_on(self.interrupt)?;
                let mut up = LinkUnspec::new_with_index(LOOPBACK).up();
                if let Some(mtu) = self.spec.hosts[*host].loopback_mtu {
                    up = up.mtu(mtu);
                }
                let done = hosts[host].link().set(up.build()).execute().await;
                done.map_err(|e| self.host_error(*host, "bringing loopback up", e))?;
                if !self.is_guest(*host) {
                    self.give_addresses(*host, &hosts[host]).await?;
                }
            }
            for link in &self.links {
                go_on(self.interrupt)?;
                self.make_link(&hosts, *link).await?;
            }
            for (host, netlink) in hosts.iter().filter(|(host, _)| !self.is_guest(**host)) {
                self.make_routes(*host, netlink).await?;
            }
            Ok(())
        })
    }

    /// Addresses beside those of links stand on the loopback interface, where no link's end takes them with it.
    async fn give_addresses(&self, host: usize, netlink: &Handle) -> Result<(), HostError> {
        for address in self.topology.own_addresses(host) {
            let done = netlink.address().add(LOOPBACK, address.into(), 32).execute().await;
            done.map_err(|e| self.host_error(host, &format!("giving it the address {address}"), e))?;
        }
        Ok(())
    }

    fn translate(&self, host: usize) -> Result<(), HostError> {
        let Some(translation) = translation(self.spec, self.topology, host) else { return Ok(()) };
        let at = |operation: &str| {
            let (host, operation) = (self.names[host].clone(), operation.to_owned());
            move |source| HostError::Host { host, operation, source }
        };
        setns(&self.namespaces[&host], CloneFlags::CLONE_NEWNET)
            .map_err(|errno| at("entering its network namespace")(errno.into()))?;
        nat::make(&translation).map_err(at("making rules of address translation (nf_tables)"))
    }

    /// Whether a guest's kernel has the addresses, routes and translation in place of the host's namespace.
    fn is_guest(&self, host: usize) -> bool {
        self.spec.hosts[host].guest.is_some()
    }

    /// A netlink socket in each namespace. A socket stays in the namespace in which it was made, so this one thread can serve all.
    fn connect(&self) -> Result<BTreeMap<usize, Handle>, HostError> {
        let mut hosts = BTreeMap::new();
        for (host, namespace) in &self.namespaces {
            let at = |operation: &str| {
                let (host, operation) = (self.names[*host].clone(), operation.to_owned());
                move |source| HostError::Host { host, operation, source }
            };
            let handle = open_netlink(namespace).map_err(at("opening netlink in its network namespace"))?;
            hosts.insert(*host, handle);
        }
        Ok(hosts)
    }

    async fn make_link(&self, hosts: &BTreeMap<usize, Handle>, number: usize) -> Result<(), HostError> {
        let link = &self.topology.links[number];
        for end in link.ends.iter().filter(|end| !self.fresh.contains(&end.host)) {
            self.remove_leftover(&hosts[&end.host], link, end).await?;
        }
        let [near, far] = &link.ends;
        match self.emulators.get(&number) {
            None => self.join(hosts, link, near, &far.into(), &self.namespaces[&far.host]).await?,
            Some(namespace) => self.join_to_emulator(hosts, link, namespace).await?,
        }
        for end in [near, far] {
            let netlink = &hosts[&end.host];
            let up = netlink.link().set(LinkUnspec::new_with_index(end.index).up().build()).execute().await;
            up.map_err(|e| self.link_error(link, "bringing it up", e))?;
            if self.is_guest(end.host) {
                continue;
            }
            let address = netlink.address().add(end.index, end.address.into(), PREFIX).execute().await;
            address
                .map_err(|e| self.link_error(link, &format!("giving it the address {}", end.address), e))?;
        }
        Ok(())
    }

    /// Makes both ends of a virtual link, one of them in another namespace.
    async fn join(
        &self,
        hosts: &BTreeMap<usize, Handle>,
        link: &Link,
        near: &End,
        far: &Interface<'_>,
        far_namespace: &OwnedFd,
    ) -> Result<(), HostError> {
        let message = veth(&near.into(), far, far_namespace, link.mtu);
        let done = hosts[&near.host].link().add(message).execute().await;
        done.map_err(|e| self.link_error(link, "making it", e))
    }

    /// Joins each end of a link to the emulator, and brings the emulator's own ends up.
    async fn join_to_emulator(
        &self,
        hosts: &BTreeMap<usize, Handle>,
        link: &Link,
        namespace: &OwnedFd,
    ) -> Result<(), HostError> {
        let failed = |operation: &str| {
            let operation = operation.to_owned();
            move |source| self.link_io_error(link, &operation, source)
        };
        let emulator = open_netlink(namespace).map_err(failed("opening netlink at its emulator"))?;
        for ((end, name), index) in link.ends.iter().zip(emulator::ENDS).zip(emulator::INDICES) {
            self.join(hosts, link, end, &Interface { name, index }, namespace).await?;
            let up = emulator.link().set(LinkUnspec::new_with_index(index).up().build()).execute().await;
            up.map_err(|e| self.link_error(link, "bringing the emulator's end up", e))?;
        }
        Ok(())
    }

    /// Makes packets over a shaped link, or to a guest, look as on a cable: no packet is longer than there, and each
    /// has its checksum. Then applies the kernel's shaping.
    fn shape(&self, number: usize, means: Option<&Means>) -> Result<(), HostError> {
        let link = &self.topology.links[number];
        let failed = |operation: &str, error| self.link_io_error(link, operation, error);
        for (n, end) in link.ends.iter().enumerate() {
            setns(&self.namespaces[&end.host], CloneFlags::CLONE_NEWNET)
                .map_err(|errno| failed("entering the network namespace of its end", errno.into()))?;
            offload::switch_off(&end.interface)
                .map_err(|e| failed("switching segmentation and checksum offload off", e))?;
            if let Some(Means::Netem(qdiscs)) = means {
                netem::add(end.index, &qdiscs[n]).map_err(|e| failed("shaping it by netem", e))?;
            }
        }
        Ok(())
    }

    /// Applies the requested offloads to the ends of a link, whatever else it has.
    fn offload(&self, number: usize) -> Result<(), HostError> {
        let Some(offloads) = self.spec.links[number].offload else { return Ok(()) };
        let link = &self.topology.links[number];
        let failed = |operation: &str, error| self.link_io_error(link, operation, error);
        for end in &link.ends {
            setns(&self.namespaces[&end.host], CloneFlags::CLONE_NEWNET)
                .map_err(|errno| failed("entering the network namespace of its end", errno.into()))?;
            for (feature, on) in offload::asked(&offloads) {
                let what = format!("switching {} {}", feature.name(), if on { "on" } else { "off" });
                offload::switch(&end.interface, feature, on).map_err(|error| failed(&what, error))?;
            }
        }
        Ok(())
    }

    /// Removes the end that a host kept at the end of its neighbour: the kernel removes it late, and its name and index stay in use until then.
    async fn remove_leftover(&self, netlink: &Handle, link: &Link, end: &End) -> Result<(), HostError> {
        match netlink.link().del(end.index).execute().await.map_err(to_io) {
            Err(e) if e.raw_os_error() != Some(Errno::ENODEV as i32) => {
                Err(self.link_io_error(link, "removing what is left of it", e))
            }
            _ => Ok(()),
        }
    }

    /// Makes the host's routes over new links. It has the others already.
    async fn make_routes(&self, host: usize, netlink: &Handle) -> Result<(), HostError> {
        for route in self.topology.routes(host).iter().filter(|r| self.links.contains(&r.link)) {
            let message = RouteMessageBuilder::<Ipv4Addr>::new()
                .destination_prefix(route.to, route.prefix)
                .gateway(route.via)
                .build();
            let done = netlink.route().add(message).execute().await;
            done.map_err(|e| self.host_error(host, &format!("adding the route to {}", route.to), e))?;
        }
        Ok(())
    }

    fn host_error(&self, host: usize, operation: &str, error: rtnetlink::Error) -> HostError {
        let (host, operation) = (self.names[host].clone(), operation.to_owned());
        HostError::Host { host, operation, source: to_io(error) }
    }

    fn link_error(&self, link: &Link, operation: &str, error: rtnetlink::Error) -> HostError {
        self.link_io_error(link, operation, to_io(error))
    }

    fn link_io_error(&self, link: &Link, operation: &str, source: io::Error) -> HostError {
        let [a, b] = link.ends.each_ref().map(|end| &self.names[end.host]);
        HostError::Link { link: format!("{a} - {b}"), operation: operation.into(), source }
    }
}

/// Address translation of a forwarding host, if it has one.
pub(crate) fn translation(spec: &RigSpec, topology: &Topology, host: usize) -> Option<Translation> {
    let nat = spec.hosts[host].nat.as_ref()?;
    let mut pool = topology.own_addresses(host);
    let sources = nat.of.iter().filter_map(|of| spec.position(of));
    Some(Translation {
        sources: sources.flat_map(|source| topology.sources(source)).collect(),
        pool: pool.next().map(|first| (first, pool.next_back().unwrap_or(first))),
        ports: nat.ports,
    })
}

/// A netlink socket in another network namespace, in which the calling thread then is.
fn open_netlink(namespace: &OwnedFd) -> io::Result<Handle> {
    setns(namespace, CloneFlags::CLONE_NEWNET)?;
    let (connection, handle, _) = rtnetlink::new_connection()?;
    tokio::spawn(connection);
    Ok(handle)
}

/// Name and index of a virtual link's end.
struct Interface<'n> {
    name: &'n str,
    index: u32,
}

impl<'e> From<&'e End> for Interface<'e> {
    fn from(end: &'e End) -> Self {
        Self { name: &end.interface, index: end.index }
    }
}

/// Creates both ends at once, each in its namespace, so that they never appear in a third one. They are brought up later: the kernel refuses to
/// bring up an end without a peer.
fn veth(near: &Interface<'_>, far: &Interface<'_>, far_namespace: &OwnedFd, mtu: Option<u32>) -> LinkMessage {
    let mut peer = LinkMessageBuilder::<LinkUnspec>::new()
        .name(far.name.to_owned())
        .index(far.index)
        .setns_by_fd(far_namespace.as_raw_fd());
    let mut this = LinkVeth::new(near.name, far.name).index(near.index);
    if let Some(mtu) = mtu {
        peer = peer.mtu(mtu);
        this = this.mtu(mtu);
    }
    this.set_info_data(InfoData::Veth(InfoVeth::Peer(peer.build()))).build()
}

pub(crate) fn to_io(error: rtnetlink::Error) -> io::Error {
    match error {
        rtnetlink::Error::NetlinkError(message) => message.to_io(),
        other => io::Error::other(other),
    }
}
