//! Guests that sample themselves: the machine's profiler sees the emulator alone.

use std::collections::BTreeSet;

use plimsoll_model::experiment::{Experiment, GuestClock, HostKind};
use plimsoll_model::observation::{Arm, Profile};

/// Whether a host is a guest that shares the machine's time, and samples itself while something is measured.
pub(crate) fn samples_itself(experiment: &Experiment, host: &str) -> bool {
    let wanted = experiment.run.probes && experiment.run.profile;
    let host = &experiment.hosts[host];
    wanted && host.kind == HostKind::Vm && host.clock != GuestClock::Virtual
}

/// The machine's profiles of both rigs, with what guests sampled of themselves in place of what the machine saw of them.
pub(crate) fn put_together(machine: Vec<Profile>, of_guests: &[(String, Profile)]) -> Vec<Profile> {
    let arms: BTreeSet<Arm> = of_guests.iter().map(|(_, profile)| profile.arm).collect();
    let (concerned, mut all): (Vec<Profile>, Vec<Profile>) =
        machine.into_iter().partition(|profile| arms.contains(&profile.arm));
    for arm in arms {
        let own: Vec<&(String, Profile)> = of_guests.iter().filter(|(_, of)| of.arm == arm).collect();
        let hosts: BTreeSet<String> = own.iter().map(|(host, _)| host.clone()).collect();
        let machine = concerned.iter().find(|profile| profile.arm == arm);
        let rest = machine.map(|profile| profile.without_hosts(&hosts));
        let each = own.into_iter().map(|(_, profile)| profile.clone());
        all.extend(rest.into_iter().chain(each).reduce(|one, other| one.beside(&other)));
    }
    all
}
