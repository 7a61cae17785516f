//! Limits of this machine, and the answers that they touch.

use std::fs::OpenOptions;
use std::path::Path;

use plimsoll_host::{Access, has_controller, root_lacks, usable_cpus};
use plimsoll_inventory::Inventory;
use plimsoll_model::note::NoteKind;
use plimsoll_model::observation::ProfileClock;
use plimsoll_probe::profile;
use serde::Serialize;

use super::score::{Attempt, Tried};
use crate::failure::Failure;

/// So much of the CPUs' time given to others is worth a word.
const STOLEN: f64 = 0.01;

/// Facts about the machine.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) access: Access,
    /// Rights that this root lacks.
    lacks: Option<String>,
    /// The method of sampling stacks, or why they are not sampled.
    profiles: Result<ProfileClock, String>,
    cpus: usize,
    hypervisor: bool,
    /// Which share of the CPUs' time since the start the hypervisor gave to others.
    stolen: Option<f64>,
    clock: Option<String>,
    /// Why guests are emulated.
    no_kvm: Option<String>,
    /// The controllers that are unavailable for control groups.
    no_groups: Vec<&'static str>,
}

/// A question that this machine cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Limit {
    /// The limitation.
    pub(super) what: String,
    /// Which answers that touches.
    pub(super) touches: String,
}

impl Machine {
    pub(super) fn look() -> Result<Self, Failure> {
        let access = Access::detect()?;
        let inventory = Inventory::read(Path::new("/"));
        let kvm = OpenOptions::new().read(true).write(true).open("/dev/kvm");
        Ok(Self {
            lacks: root_lacks().map(ToOwned::to_owned),
            profiles: profile::usable_clock().map_err(|error| error.to_string()),
            cpus: usable_cpus()?.len(),
            hypervisor: inventory.virtualization.hypervisor == Some(true),
            stolen: inventory.cpus.stolen,
            clock: inventory.clock.source,
            no_kvm: kvm.err().map(|error| format!("/dev/kvm: {error}")),
            no_groups: ["memory", "io"].into_iter().filter(|name| !has_controller(name)).collect(),
            access,
        })
    }

    /// The limits that follow from the machine and from the notes of the runs.
    pub(super) fn cannot_tell(&self, tries: &[Tried]) -> Vec<Limit> {
        let mut limits = Vec::new();
        let mut add = |what: String, touches: &str| limits.push(Limit { what, touches: touches.to_owned() });
        match &self.access {
            Access::Root => {}
            Access::UserNamespace => add(
                "without root, kernel caches cannot be dropped, slabs not read, and devices neither created nor limited".to_owned(),
                "whether state lives in a kernel cache; causes of disks and memory; devices",
            ),
            Access::Local(why) => add(
                format!("user namespaces are forbidden {why}: all hosts share this machine's loopback"),
                "links, routes, firewalls, translation of addresses, kernel settings, and whether state lives in the host's kernel",
            ),
        }
        if let Some(lacks) = &self.lacks {
            add(format!("root lacks {lacks} here"), "whether state lives in a kernel cache");
        }
        match &self.profiles {
            Ok(ProfileClock::Cycles) => {}
            Ok(ProfileClock::CpuClock) => add(
                "a timer samples stacks, since cycle counters are missing: code with interrupts off is invisible".to_owned(),
                "which functions used the CPU time",
            ),
            Err(why) => add(
                format!("no stacks are sampled: {why}"),
                "causes that need functions: net.rule_chain, lock.contended, cpu.kernel_saturated, kernel.path_longer",
            ),
        }
        if self.cpus < 2 {
            add(
                "one CPU: the load generator and the service share it".to_owned(),
                "absolute rates and limits, and causes of CPUs",
            );
        }
        if self.hypervisor {
            let stolen = self.stolen.filter(|share| *share >= STOLEN);
            let stolen = stolen.map_or_else(String::new, |share| {
                format!(", which gave {:.0} % of the CPU time to others", 100.0 * share)
            });
            add(
                format!("this kernel runs under a hypervisor{stolen}"),
                "absolute figures; effects of the hypervisor on disk and network look like effects of the device",
            );
        }
        if let Some(clock) =
            self.clock.as_ref().filter(|clock| !matches!(clock.as_str(), "tsc" | "arch_sys_counter"))
        {
            add(format!("the kernel's clock is {clock}"), "times of a few microseconds");
        }
        if let Some(why) = &self.no_kvm {
            add(
                format!("guests are emulated ({why})"),
                "absolute figures of experiments on kernels of their own (kernel/*), which are not tried here",
            );
        }
        if !self.no_groups.is_empty() {
            add(
                format!("no control groups can be made of: {}", self.no_groups.join(", ")),
                "hosts with little memory, and rate-limited devices",
            );
        }
        limits.extend(said(tries));
        limits
    }
}

/// Notes of the runs on the machine: cases in which others used its CPUs, and each counter that was not seen once.
fn said(tries: &[Tried]) -> Vec<Limit> {
    let (mut disturbed, mut unseen) = (Vec::new(), Vec::new());
    for tried in tries {
        let Attempt::Judged { said, .. } = &tried.attempt else { continue };
        for note in &said.notes {
            match &note.kind {
                NoteKind::OtherProcesses if !disturbed.contains(&tried.case.name) => {
                    disturbed.push(tried.case.name);
                }
                NoteKind::NotSeen { .. } if !unseen.contains(&note.text) => unseen.push(note.text.clone()),
                NoteKind::OtherProcesses
                | NoteKind::NotSeen { .. }
                | NoteKind::Link { .. }
                | NoteKind::Failed
                | NoteKind::Other => {}
            }
        }
    }
    let others = (!disturbed.is_empty()).then(|| Limit {
        what: format!("other processes used the CPUs while these were measured: {}", disturbed.join(", ")),
        touches: "whether these could be decided, and how exactly".to_owned(),
    });
    let unseen =
        unseen.into_iter().map(|what| Limit { what, touches: "causes that need these counters".to_owned() });
    others.into_iter().chain(unseen).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use plimsoll_model::note::Note;
    use plimsoll_model::verdict::Outcome;

    use super::*;
    use crate::command::selftest::summary::tests::tried;

    /// A machine that can do everything.
    pub(in super::super) fn able() -> Machine {
        Machine {
            access: Access::Root,
            lacks: None,
            profiles: Ok(ProfileClock::Cycles),
            cpus: 8,
            hypervisor: false,
            stolen: None,
            clock: Some("tsc".into()),
            no_kvm: None,
            no_groups: Vec::new(),
        }
    }

    fn lines(machine: &Machine) -> Vec<String> {
        machine
            .cannot_tell(&[])
            .into_iter()
            .map(|limit| format!("{} -> {}", limit.what, limit.touches))
            .collect()
    }

    #[test]
    fn a_machine_that_lacks_nothing_has_nothing_to_confess() {
        assert_eq!(lines(&able()), Vec::<String>::new());
    }

    #[test]
    fn each_thing_that_is_missing_is_named_with_what_it_touches() {
        let machine = Machine {
            access: Access::UserNamespace,
            profiles: Err("perf_event_paranoid is 4".into()),
            cpus: 1,
            hypervisor: true,
            stolen: Some(0.12),
            clock: Some("hpet".into()),
            no_kvm: Some("/dev/kvm: no such file".into()),
            no_groups: vec!["io"],
            ..able()
        };
        let lines = lines(&machine);
        assert_eq!(lines.len(), 7, "{lines:#?}");
        for part in [
            "without root",
            "perf_event_paranoid is 4 -> causes that need functions",
            "one CPU",
            "12 %",
            "hpet",
            "kernel/*",
            ": io",
        ] {
            assert!(lines.iter().any(|line| line.contains(part)), "{part}: {lines:#?}");
        }
    }

    #[test]
    fn what_runs_say_of_the_machine_is_reported_once() {
        let mut noted = tried("few-ports", Outcome::Undecided, &[]);
        let Attempt::Judged { said, .. } = &mut noted.attempt else { panic!("it was judged") };
        said.notes = vec![
            Note::other_processes("others used 40 % of the CPUs".into()),
            Note::not_seen("/proc/slabinfo: permission denied"),
            Note::from("nothing of this machine".to_owned()),
        ];
        let limits = able().cannot_tell(&[noted.clone(), noted]);
        assert_eq!(limits.len(), 2, "{limits:#?}");
        assert!(limits[0].what.ends_with("were measured: few-ports"), "{limits:#?}");
    }
}
