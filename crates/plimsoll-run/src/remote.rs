//! Existing machines as hosts of a run.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_host::remote::{Means, RemoteHost, RemoteRig};
use plimsoll_model::experiment::{Allow, Experiment, LinkDirection};
use plimsoll_model::frame::VolumePlace;

use crate::host_provider::{Changed, HostProvider, Hosts, LinkTrouble, Pipes, ProviderError, ShapedLink};

/// Provider of existing machines as hosts.
#[derive(Debug)]
pub struct Machines {
    /// Means to reach them.
    pub means: Means,
    /// Addresses outside of the experiment's machines that loads may aim at.
    pub targets: Vec<IpAddr>,
    /// Set when the user interrupts the run: connections in progress are then given up.
    pub interrupt: Arc<AtomicBool>,
}

impl HostProvider for Machines {
    fn build(&self, experiment: &Experiment) -> Result<Box<dyn Hosts>, ProviderError> {
        let hosts = experiment.hosts.iter().filter_map(|(name, host)| {
            Some(RemoteHost {
                name: name.clone(),
                reach: host.reach.clone()?,
                address: host.address.clone(),
                may_be_root: host.allow.contains(&Allow::Root),
                lost_after: host.lost_after().0,
            })
        });
        let hosts: Vec<RemoteHost> = hosts.collect();
        Ok(Box::new(RemoteRig::build(&hosts, &self.means, &self.targets, &self.interrupt)?))
    }

    fn drop_caches(&self) -> Result<(), ProviderError> {
        Err(stays("the caches of an existing machine are not dropped"))
    }

    fn change_machine(&self, _: &BTreeMap<String, String>) -> Result<Box<dyn Changed>, ProviderError> {
        Err(stays("this machine is no host of the experiment"))
    }

    fn usable_cpus(&self) -> Result<Vec<u32>, ProviderError> {
        Ok(plimsoll_host::usable_cpus()?)
    }
}

/// The error for an operation that a machine from before the run does not allow.
fn stays(why: &str) -> ProviderError {
    ProviderError::Failed { source: why.into(), advice: None }
}

impl Hosts for RemoteRig {
    fn pipes(&mut self, host: &str) -> Result<Pipes, ProviderError> {
        let (to, from) = RemoteRig::pipes(self, host)?;
        Ok(Pipes { to: Box::new(to), from: Box::new(from), clock: self.clock(host) })
    }

    fn address(&self, from: &str, to: &str) -> Result<IpAddr, ProviderError> {
        Ok(RemoteRig::address(self, from, to)?)
    }

    fn listen(&self, host: &str) -> Result<IpAddr, ProviderError> {
        Ok(RemoteRig::listen(self, host)?)
    }

    fn notes(&self, host: &str) -> Vec<String> {
        RemoteRig::notes(self, host)
    }

    fn own_addresses(&self, _: &str) -> Result<Vec<IpAddr>, ProviderError> {
        // The kernel there chooses where loads come from.
        Ok(Vec::new())
    }

    fn volume(&self, name: &str) -> Result<VolumePlace, ProviderError> {
        Err(ProviderError::NoSuchVolume(name.into()))
    }

    fn link_troubles(&mut self) -> Result<Vec<LinkTrouble>, ProviderError> {
        Ok(Vec::new())
    }

    fn shaped_links(&mut self) -> Result<Vec<ShapedLink>, ProviderError> {
        Ok(Vec::new())
    }

    fn change_link(&mut self, _: usize, _: &[LinkDirection; 2]) -> Result<(), ProviderError> {
        Err(stays("the links of existing machines are not changed"))
    }

    fn network_namespace(&self, _: &str) -> Option<u64> {
        None
    }

    fn last_lines(&mut self, host: &str) -> String {
        RemoteRig::last_lines(self, host)
    }

    fn rebuild(&mut self, host: &str) -> Result<(), ProviderError> {
        Err(ProviderError::NotRebuildable(format!("`{host}` is an existing machine")))
    }
}
