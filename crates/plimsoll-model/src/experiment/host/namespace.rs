//! Hosts that are namespaces of this machine's kernel.

use super::vm::refuse_guest_settings;
use super::{HostType, OwnResources};
use crate::experiment::prelude::*;
use crate::experiment::{Experiment, Host};

pub(super) struct Namespace;

impl HostType for Namespace {
    fn own(&self) -> OwnResources {
        OwnResources { network: true, kernel: false, files: false }
    }

    fn describe(&self) -> &'static str {
        "namespaces of its own"
    }

    fn title(&self) -> &'static str {
        "namespace"
    }

    fn check(&self, _: &Experiment, name: &str, host: &Host) -> Checked {
        refuse_guest_settings(name, host)
    }

    fn effects(&self, _: &Experiment, name: &str, host: &Host) -> Vec<Effect> {
        memory_limit(name, host).into_iter().collect()
    }
}

/// Effect on this machine of limiting the memory of processes.
pub(super) fn memory_limit(name: &str, host: &Host) -> Option<Effect> {
    let what =
        format!("a control group that holds the host to {} of memory, removed afterwards", host.memory?);
    Some(Effect::new(EffectKind::Machine, format!("hosts.{name}.memory"), what).on(name).needs_root())
}
