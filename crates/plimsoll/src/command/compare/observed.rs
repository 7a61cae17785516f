//! The counters that are read while commands run: of the whole machine, of one network namespace, or of a control
//! group.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use nix::sched::{CloneFlags, setns};
use plimsoll_model::observation::Snapshot;
use plimsoll_probe::counters::{Counters, Depth};
use plimsoll_probe::profile::HostNamespaces;

use crate::args::Observe;
use crate::failure::Failure;
use crate::observe;

/// The source of the counters.
pub(super) struct Observed {
    /// The network namespace, by its inode, and its name for a reader.
    pub(super) namespaces: HostNamespaces,
    /// The folder of a control group, whose processes are what is measured.
    group: Option<PathBuf>,
    counters: NamespaceCounters,
}

impl Observed {
    pub(super) fn open(what: &Observe) -> Result<Self, Failure> {
        let (namespace, name, group) = match what {
            Observe::Host => (PathBuf::from("/proc/self/ns/net"), "host".to_owned(), None),
            Observe::Namespace(which) => (observe::namespace(which), which.clone(), None),
            Observe::Group(which) => {
                let folder = observe::control_group(Path::new(which)).ok_or_else(|| {
                    Failure::Usage(format!(
                        "--observe: expected a control group below {}, got `{which}`",
                        observe::GROUPS
                    ))
                })?;
                let pid = processes(&folder).into_iter().next().ok_or_else(|| {
                    Failure::Usage(format!(
                        "--observe: the control group {} has no process whose network could be looked at",
                        folder.display()
                    ))
                })?;
                (PathBuf::from(format!("/proc/{pid}/ns/net")), which.clone(), Some(folder))
            }
        };
        let cannot = |error: &dyn std::fmt::Display| {
            Failure::could_not(format!("--observe: {}: {error}", namespace.display()))
        };
        let file = File::open(&namespace).map_err(|error| cannot(&error))?;
        let inode = file.metadata().map_err(|error| cannot(&error))?.ino();
        let counters = NamespaceCounters::open(file).map_err(|error| cannot(&error))?;
        Ok(Self { namespaces: BTreeMap::from([(inode, name)]), group, counters })
    }

    /// What the kernel has counted until now.
    pub(super) fn read(&self) -> Snapshot {
        self.counters.read()
    }

    /// The path of the control group that is looked at, from the root of its hierarchy; nothing for the root itself, which has all processes.
    pub(super) fn group(&self) -> Option<String> {
        self.group.as_deref().and_then(observe::path_of_group)
    }
}

/// The processes of a control group.
fn processes(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Counters of a network namespace, read by a thread that lives in it.
struct NamespaceCounters {
    asked: Sender<()>,
    told: Receiver<Snapshot>,
}

impl NamespaceCounters {
    fn open(namespace: File) -> Result<Self, String> {
        let (asked, questions) = channel::<()>();
        let (answers, told) = channel();
        let (opened, is_open) = channel();
        thread::Builder::new()
            .name("counters".into())
            .spawn(move || {
                let own = fs::metadata("/proc/thread-self/ns/net").map(|own| own.ino()).ok();
                let is_own = own.is_some() && own == namespace.metadata().map(|other| other.ino()).ok();
                let entered = if is_own { Ok(()) } else { setns(&namespace, CloneFlags::CLONE_NEWNET) };
                let counters = entered
                    .map_err(|error| error.to_string())
                    .and_then(|()| Counters::open(Path::new("/")).map_err(|error| error.to_string()));
                match counters {
                    Ok(mut counters) => {
                        let _ = opened.send(Ok(()));
                        // Until nobody asks any more.
                        while questions.recv().is_ok() && answers.send(counters.read(Depth::Light)).is_ok() {}
                    }
                    Err(error) => drop(opened.send(Err(error))),
                }
            })
            .map_err(|error| error.to_string())?;
        is_open.recv().map_err(|_| "the thread that reads counters has ended".to_owned())??;
        Ok(Self { asked, told })
    }

    fn read(&self) -> Snapshot {
        self.asked.send(()).ok().and_then(|()| self.told.recv().ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_the_own_namespace_are_read_without_privilege() {
        let observed = Observed::open(&Observe::Host).unwrap();
        let values = observed.read().values;
        assert!(values.contains_key("machine.stat.ctxt") && values.contains_key("snmp.Tcp.ActiveOpens"));
        assert_eq!(observed.group(), None);
        assert!(Observed::open(&Observe::Namespace("/no/such".into())).is_err());
    }
}
