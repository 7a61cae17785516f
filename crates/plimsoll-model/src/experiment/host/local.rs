//! Hosts that are processes of this machine, on addresses of its loopback.

use super::namespace::memory_limit;
use super::vm::refuse_guest_settings;
use super::{HostKind, HostType, OwnResources, programs};
use crate::effect::{Consent, Effect, EffectKind};
use crate::experiment::problem::{Checked, Part, problem};
use crate::experiment::{Experiment, Host};

pub(super) struct Local;

impl HostType for Local {
    fn own(&self) -> OwnResources {
        OwnResources { network: false, kernel: false, files: false }
    }

    fn describe(&self) -> &'static str {
        "this machine"
    }

    fn title(&self) -> &'static str {
        "local process"
    }

    fn check(&self, _: &Experiment, name: &str, host: &Host) -> Checked {
        if !host.sysctls.is_empty() {
            return Err(problem(
                path!["hosts", name, "sysctls"],
                "a local host shares the kernel settings of the machine",
                "settings only on a host of kind \"namespace\"",
            ));
        }
        if host.addresses > 0 || host.nat.is_some() {
            let key = if host.addresses > 0 { "addresses" } else { "nat" };
            return Err(problem(
                path!["hosts", name, key],
                "a local host has one address of the machine's loopback",
                "this only on a host of kind \"namespace\"",
            ));
        }
        refuse_guest_settings(name, host)
    }

    fn effects(&self, experiment: &Experiment, name: &str, host: &Host) -> Vec<Effect> {
        let what = "its programs and loads are processes of the machine itself, on addresses of its loopback (127.77.0.0/16)";
        let mut network = Effect::new(EffectKind::Network, format!("hosts.{name}.kind"), what).on(name);
        // Plimsoll's own services and loads reach nothing but each other.
        if !programs(experiment, name).is_empty() {
            network = network.needs_consent(Consent::Local);
        }
        [network].into_iter().chain(memory_limit(name, host)).collect()
    }
}

impl Host {
    /// Makes a process of this machine of it, without what such a host cannot have.
    pub(crate) fn move_to_loopback(&mut self) {
        self.kind = HostKind::Local;
        self.sysctls.clear();
        self.addresses = 0;
        self.nat = None;
    }
}
