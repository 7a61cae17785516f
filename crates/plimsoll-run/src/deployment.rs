//! One rig with its services running.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use plimsoll_model::experiment::{ChangeLink, Experiment, LinkState, Load, Service, Target};
use plimsoll_model::frame::{
    Approach, Certificate, FromAgent, Id, LoadKind, LoadSpec, ServiceKind, ServiceSpec, ServiceTemplate,
    ToAgent, Trust, VolumePlace,
};
use plimsoll_model::observation::{Arm, FlushFacts, MailLedger};

use crate::agent_pool::{AgentPool, Key, off_the_mark};
use crate::certificate;
use crate::error::{RunError, TrialStop};
use crate::guests::samples_itself;
use crate::host_provider::{Hosts, LinkTrouble, ShapedLink};

/// A running service.
struct Started {
    id: Id,
    spec: ServiceSpec,
}

/// The hosts of one rig, and the services on them.
pub(crate) struct Deployment<'e> {
    pub(crate) arm: Arm,
    experiment: &'e Experiment,
    hosts: Box<dyn Hosts>,
    services: BTreeMap<String, Started>,
    /// State of the changed links, by their place in the experiment.
    links: BTreeMap<usize, LinkState>,
    /// The CPUs of each host.
    cpus: BTreeMap<String, Vec<u32>>,
    /// Certificate of the services, if any speaks TLS.
    certificate: Option<Certificate>,
}

impl<'e> Deployment<'e> {
    pub(crate) fn new(
        arm: Arm,
        experiment: &'e Experiment,
        hosts: Box<dyn Hosts>,
        cpus: BTreeMap<String, Vec<u32>>,
    ) -> Result<Self, RunError> {
        let wanted = experiment.services.values().any(Service::has_certificate);
        let certificate = wanted.then(certificate::make).transpose()?;
        let (services, links) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { arm, experiment, hosts, services, links, cpus, certificate })
    }

    pub(crate) fn key(&self, host: &str) -> Key {
        Key::new(self.arm, host)
    }

    /// The network namespaces of the hosts that have one of their own, by inode.
    pub(crate) fn network_namespaces(&self) -> BTreeMap<u64, String> {
        let names = self.experiment.hosts.keys();
        names.filter_map(|host| Some((self.hosts.network_namespace(host)?, host.clone()))).collect()
    }

    /// The hosts' agents, in the order of the hosts' names.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.experiment.hosts.keys().map(|host| self.key(host)).collect()
    }

    /// Greets the agents of all hosts. The pool awaits their replies.
    pub(crate) fn join(&mut self, agents: &mut AgentPool<'_>) -> Result<(), TrialStop> {
        for host in self.experiment.hosts.keys() {
            self.join_host(agents, host)?;
        }
        Ok(())
    }

    fn join_host(&mut self, agents: &mut AgentPool<'_>, host: &str) -> Result<(), TrialStop> {
        let key = self.key(host);
        let pipes = self.hosts.pipes(host)?;
        let own_kernel = self.experiment.hosts[host].kind.own().kernel;
        let machine = own_kernel || key == machine_host(self.experiment);
        let profile = samples_itself(self.experiment, host);
        Ok(agents.join(&key, &self.experiment.hosts[host], &self.cpus[host], pipes, machine, profile)?)
    }

    /// Notes about the hosts for readers of the figures.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        let hosts = self.experiment.hosts.keys();
        hosts.flat_map(|host| self.hosts.notes(host).into_iter().map(move |note| format!("`{host}`: {note}")))
    }

    /// How the agent of a host ended by itself, in words; empty if unknown.
    pub(crate) fn end_in_words(&mut self, host: &str) -> String {
        self.hosts.end_in_words(host)
    }

    /// The last lines of the consoles of hosts that have ended by themselves.
    pub(crate) fn last_lines(&mut self) -> String {
        let hosts = self.experiment.hosts.iter().filter(|(_, host)| host.kind.own().kernel);
        let texts = hosts.filter_map(|(host, _)| {
            let lines = self.hosts.last_lines(host);
            let text = match self.experiment.is_remote() {
                true => format!("; `{host}`: {lines}"),
                false => format!("; the last lines of the console of `{host}`:\n{lines}"),
            };
            (!lines.is_empty()).then_some(text)
        });
        texts.collect()
    }

    /// Links that have lost or delayed frames so far.
    pub(crate) fn link_troubles(&mut self) -> Result<Vec<LinkTrouble>, TrialStop> {
        Ok(self.hosts.link_troubles()?)
    }

    /// What shapes the links that do something to packets.
    pub(crate) fn shaped_links(&mut self) -> Result<Vec<ShapedLink>, TrialStop> {
        Ok(self.hosts.shaped_links()?)
    }

    /// Starts all services, each after the one that it passes connections on to.
    pub(crate) fn start_all(&mut self, agents: &mut AgentPool<'_>) -> Result<(), TrialStop> {
        for name in in_order(self.experiment) {
            self.start(agents, name)?;
        }
        Ok(())
    }

    fn start(&mut self, agents: &mut AgentPool<'_>, name: &str) -> Result<(), TrialStop> {
        let service = &self.experiment.services[name];
        let mut spec = match self.services.remove(name) {
            Some(started) => started.spec,
            None => self.spec(name, service)?,
        };
        let key = self.key(&service.on);
        let id = agents.id();
        let deadline = Instant::now() + spec.ready.within.0 * 2;
        let request = ToAgent::Start { id, service: spec.clone() };
        let answers = agents.ask_all(&[(key.clone(), id, request)], deadline, &mut |_, _| {})?;
        match answers.into_iter().next() {
            // The ports that were chosen are kept, so that a restarted service is found where it was.
            Some(FromAgent::Ready { listen, .. }) => spec.listen = listen,
            Some(FromAgent::Failed { why, .. }) => {
                return Err(RunError::Service { service: name.into(), host: service.on.clone(), why }.into());
            }
            _ => return Err(off_the_mark(&service.on)),
        }
        agents.depend_on(&key, id, name);
        self.services.insert(name.to_owned(), Started { id, spec });
        self.try_from_afar(agents, name)
    }

    /// A service is ready when the hosts reach it that loads and other services come from.
    fn try_from_afar(&self, agents: &mut AgentPool<'_>, name: &str) -> Result<(), TrialStop> {
        let Started { spec, .. } = &self.services[name];
        let host = &self.experiment.services[name].on;
        let mut requests = Vec::new();
        for way in spec.approaches.iter().filter(|way| way.host != *host) {
            let targets = spec.listen.iter().map(|listen| SocketAddr::new(way.at, listen.port())).collect();
            let id = agents.id();
            requests.push((
                self.key(&way.host),
                id,
                ToAgent::Reach { id, targets, ready: spec.ready.clone() },
            ));
        }
        let deadline = Instant::now() + spec.ready.within.0 * 2;
        let answers = agents.ask_all(&requests, deadline, &mut |_, _| {})?;
        for ((key, ..), answer) in requests.iter().zip(answers) {
            if let FromAgent::Failed { why, .. } = answer {
                let from = key.host.clone();
                let (service, host, why) = (name.into(), host.clone(), Box::new(why));
                return Err(RunError::Unreached { service, host, from, why }.into());
            }
        }
        Ok(())
    }

    /// Ends of the services' standard errors, by name, without empty ones.
    pub(crate) fn last_words(
        &self,
        agents: &mut AgentPool<'_>,
    ) -> Result<BTreeMap<String, String>, TrialStop> {
        let mut all = BTreeMap::new();
        for (name, started) in &self.services {
            let (key, service) = (self.key(&self.experiment.services[name].on), started.id);
            match agents.ask(&key, |id| ToAgent::LastWords { id, service })? {
                FromAgent::LastWords { text, .. } if text.trim().is_empty() => {}
                FromAgent::LastWords { text, .. } => drop(all.insert(name.clone(), text)),
                _ => return Err(off_the_mark(&key.host)),
            }
        }
        Ok(all)
    }

    pub(crate) fn restart(&mut self, agents: &mut AgentPool<'_>, name: &str) -> Result<(), TrialStop> {
        self.stop(agents, name)?;
        self.start(agents, name)
    }

    /// Stops a service, if it runs.
    pub(crate) fn stop(&mut self, agents: &mut AgentPool<'_>, name: &str) -> Result<(), TrialStop> {
        self.end_service(agents, name, false)
    }

    /// Kills a service.
    pub(crate) fn kill(&mut self, agents: &mut AgentPool<'_>, name: &str) -> Result<(), TrialStop> {
        self.end_service(agents, name, true)
    }

    fn end_service(&mut self, agents: &mut AgentPool<'_>, name: &str, kill: bool) -> Result<(), TrialStop> {
        let key = self.key(&self.experiment.services[name].on);
        if let Some(started) = self.services.get(name) {
            let id = started.id;
            agents.release(&key, id);
            agents.ask_all(
                &[(key.clone(), id, ToAgent::Stop { id, kill })],
                Instant::now() + started.spec.ready.within.0,
                &mut |_, _| {},
            )?;
        }
        Ok(())
    }

    /// Changes a link from now on.
    pub(crate) fn change_link(&mut self, change: &ChangeLink) -> Result<(), TrialStop> {
        for place in change.places(self.experiment) {
            let first = &self.experiment.links[place];
            let now = self.links.entry(place).or_insert_with(|| LinkState::of(first));
            *now = change.applied(now, first);
            self.hosts.change_link(place, &now.ways())?;
        }
        Ok(())
    }

    /// Path of a volume on its host.
    pub(crate) fn volume(&self, name: &str) -> Result<VolumePlace, TrialStop> {
        Ok(self.hosts.volume(name)?)
    }

    /// Id of a started service.
    pub(crate) fn id_of(&self, service: &str) -> Option<Id> {
        self.services.get(service).map(|started| started.id)
    }

    /// Rebuilds a host and restarts its services.
    pub(crate) fn rebuild(
        &mut self,
        agents: &mut AgentPool<'_>,
        host: &str,
        sample_hz: u32,
    ) -> Result<(), TrialStop> {
        self.hosts.rebuild(host)?;
        self.join_host(agents, host)?;
        let key = self.key(host);
        agents.welcome(std::slice::from_ref(&key))?;
        agents.sample(std::slice::from_ref(&key), sample_hz)?;
        for name in in_order(self.experiment) {
            if self.experiment.services[name].on == host {
                self.start(agents, name)?;
            }
        }
        Ok(())
    }

    /// Addresses of a host on its links to `towards`; empty for all links.
    pub(crate) fn addresses_towards(&self, host: &str, towards: &[String]) -> Result<Vec<IpAddr>, TrialStop> {
        let others = towards.iter().filter(|other| *other != host);
        Ok(others.map(|other| self.hosts.address(other, host)).collect::<Result<_, _>>()?)
    }

    /// Ports of the named services; of all if none is named.
    pub(crate) fn ports(&self, services: &[String]) -> Vec<u16> {
        let wanted = self
            .services
            .iter()
            .filter(|(name, _)| services.is_empty() || services.iter().any(|service| service == *name));
        let mut ports: Vec<u16> =
            wanted.flat_map(|(_, started)| started.spec.listen.iter().map(SocketAddr::port)).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// A load with its names resolved, as it runs on the host `from`.
    pub(crate) fn load(
        &self,
        name: &str,
        load: &Load,
        from: &str,
        kind: LoadKind,
    ) -> Result<LoadSpec, TrialStop> {
        let own = self.experiment.hosts[from].kind.own();
        let sources = match own.network || own.kernel {
            true => self.hosts.own_addresses(from)?,
            false => vec![self.hosts.address(from, from)?],
        };
        let (volume, targets) = match kind.target() {
            Target::Volume => (Some(self.hosts.volume(&load.to)?), Vec::new()),
            Target::Nothing => (None, Vec::new()),
            Target::Service => (None, self.reach(from, &load.to)?),
        };
        let trust = match self.experiment.services.get(&load.to).map(|service| &service.kind) {
            Some(ServiceKind::Running(_)) => Some(Trust::AnySigner),
            _ => self.certificate.as_ref().map(|certificate| Trust::Authority(certificate.authority.clone())),
        };
        Ok(LoadSpec { name: name.to_owned(), targets, sources, trust, volume, kind })
    }

    /// Ledger of a mail sink.
    pub(crate) fn ledger(&self, agents: &mut AgentPool<'_>, sink: &str) -> Result<MailLedger, TrialStop> {
        let host = &self.experiment.services[sink].on;
        let service = self.services[sink].id;
        match agents.ask(&self.key(host), |id| ToAgent::Ledger { id, service })? {
            FromAgent::Ledger { ledger, .. } => Ok(*ledger),
            FromAgent::Failed { why, .. } => {
                Err(RunError::Service { service: sink.into(), host: host.clone(), why }.into())
            }
            _ => {
                Err(RunError::Lost { host: host.clone(), how: "answered with something else".into() }.into())
            }
        }
    }

    /// Flushes of the mail relays since the last call, by the relay's name.
    pub(crate) fn flushes(
        &self,
        agents: &mut AgentPool<'_>,
    ) -> Result<BTreeMap<String, FlushFacts>, TrialStop> {
        let relays =
            self.experiment.services.iter().filter(|(_, service)| service.kind.mail_relay().is_some());
        let mut all = BTreeMap::new();
        for (name, relay) in relays {
            let service = self.services[name].id;
            match agents.ask(&self.key(&relay.on), |id| ToAgent::Flushes { id, service })? {
                FromAgent::Flushes { flushes, .. } => drop(all.insert(name.clone(), flushes)),
                FromAgent::Failed { why, .. } => {
                    return Err(
                        RunError::Service { service: name.clone(), host: relay.on.clone(), why }.into()
                    );
                }
                _ => return Err(off_the_mark(&relay.on)),
            }
        }
        Ok(all)
    }

    /// Addresses at which `from` reaches a service.
    fn reach(&self, from: &str, service: &str) -> Result<Vec<SocketAddr>, TrialStop> {
        let host = &self.experiment.services[service].on;
        let address = self.address_of(from, host)?;
        let ports = self.services[service].spec.listen.iter().map(SocketAddr::port);
        Ok(ports.map(|port| SocketAddr::new(address, port)).collect())
    }

    /// The service with its queue in a folder of its own on the volume that it names.
    fn on_its_volume(&self, name: &str, service: &Service) -> Result<ServiceKind, TrialStop> {
        let kind = service.kind.clone();
        let Some(volume) = service.kind.volume() else { return Ok(kind) };
        let folder = self.hosts.volume(volume)?.path.join(format!("queue-{name}"));
        Ok(kind.with_queue_in(folder.to_string_lossy().into_owned()))
    }

    /// A service with its names resolved. It listens on every address of a namespace, which is its host's own, and on the one address
    /// that a local host has.
    fn spec(&self, name: &str, service: &Service) -> Result<ServiceSpec, TrialStop> {
        let address: IpAddr = match self.experiment.hosts[&service.on].kind.own().network {
            true => Ipv4Addr::UNSPECIFIED.into(),
            false => self.hosts.listen(&service.on)?,
        };
        let port = |n: u32| {
            service.port.map_or(0, |first| first.saturating_add(u16::try_from(n).unwrap_or(u16::MAX)))
        };
        let to = match service.onward() {
            Some(onward) => self.reach(&service.on, onward)?,
            None => Vec::new(),
        };
        Ok(ServiceSpec {
            name: name.to_owned(),
            listen: (0..service.kind.listeners()).map(|n| SocketAddr::new(address, port(n))).collect(),
            to,
            kind: self.on_its_volume(name, service)?,
            env: service.env.clone(),
            pass_env: service.pass_env.clone(),
            template: self.template(service)?,
            certificate: self.certificate.clone().filter(|_| service.has_certificate()),
            privileged: service.privileged,
            folder: None,
            ready: service.ready.clone(),
            approaches: self.approaches(name, service)?,
        })
    }

    /// Configuration file of a service, with the addresses of the services that it names.
    fn template(&self, service: &Service) -> Result<Option<ServiceTemplate>, TrialStop> {
        let (Some(text), Some(config)) = (&service.template, &service.config) else { return Ok(None) };
        let peer = |name: &String| Ok((name.clone(), self.reach(&service.on, name)?));
        let file = config.rsplit('/').next().unwrap_or(config);
        Ok(Some(ServiceTemplate {
            file: file.strip_suffix(".in").unwrap_or(file).to_owned(),
            text: text.clone(),
            values: service.values.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
            peers: service.peers.iter().map(peer).collect::<Result<_, TrialStop>>()?,
        }))
    }

    /// The clients of a program of the user's own. Plimsoll's own services, and the programs that it configures, listen
    /// on the addresses that they are given.
    fn approaches(&self, name: &str, service: &Service) -> Result<Vec<Approach>, TrialStop> {
        if service.kind.exec().is_none() {
            return Ok(Vec::new());
        }
        let loads = self.experiment.loads.values().filter(|load| load.to == name).map(|load| &load.from);
        let services = self.experiment.services.values();
        let before = services.filter(|other| other.needs().contains(&name)).map(|other| &other.on);
        let mut hosts: Vec<&String> = loads.chain(before).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let approach = |host: &String| {
            let at = self.address_of(host, &service.on)?;
            let from = self.address_of(&service.on, host)?;
            Ok(Approach { host: host.clone(), from, at })
        };
        hosts.into_iter().map(approach).collect()
    }

    /// The address at which `from` reaches a host.
    fn address_of(&self, from: &str, host: &str) -> Result<IpAddr, TrialStop> {
        Ok(match from == host {
            true if self.experiment.hosts[host].kind.own().network => Ipv4Addr::LOCALHOST.into(),
            _ => self.hosts.address(from, host)?,
        })
    }
}

/// Host whose agent reads the machine's counters: a host on this machine, if there is one, else the first guest. Of remote machines, it is the
/// one with the service that the first load aims at.
pub(crate) fn machine_host(experiment: &Experiment) -> Key {
    let here = experiment.hosts.iter().find(|(_, host)| !host.kind.own().kernel).map(|(name, _)| name);
    let served = || {
        let mut services = experiment.loads.values().filter_map(|load| experiment.services.get(&load.to));
        services.next().filter(|_| experiment.is_remote()).map(|service| &service.on)
    };
    let host = here.or_else(served).or_else(|| experiment.hosts.keys().next());
    Key::new(Arm::Treatment, host.expect("an experiment has a host"))
}

/// The services, each after those that it needs.
fn in_order(experiment: &Experiment) -> Vec<&str> {
    fn depth(experiment: &Experiment, name: &str) -> usize {
        let needs = experiment.services[name].needs();
        1 + needs.into_iter().map(|next| depth(experiment, next)).max().unwrap_or(0)
    }
    let mut names: Vec<&str> = experiment.services.keys().map(String::as_str).collect();
    names.sort_by_key(|name| depth(experiment, name));
    names
}
