//! Restricted controllers: each is a process in a user namespace without some rights.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use plimsoll_host::{Access, Forbidden, HostError, Rig};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use crate::agent::Agent;
use crate::scenarios;

/// The argument that makes this program such a controller; the situation follows.
pub(crate) const ARGUMENT: &str = "test-confined";

/// Restrictions, and tests of their effects.
const SITUATIONS: [(&str, fn()); 4] = [
    ("no user namespaces", without_user_namespaces),
    ("three network namespaces", with_three_network_namespaces),
    ("masked proc", with_masked_proc),
    ("caches of another", with_caches_of_another),
];

pub(crate) fn run() -> ExitCode {
    let wanted = std::env::args().nth(2);
    match SITUATIONS.iter().find(|(name, _)| Some(*name) == wanted.as_deref()) {
        Some((_, situation)) => {
            situation();
            ExitCode::SUCCESS
        }
        None => ExitCode::FAILURE,
    }
}

/// Runs the situation in a process of its own.
pub(crate) fn passes(situation: &str) {
    let output =
        Command::new("/proc/self/exe").args([ARGUMENT, situation]).output().expect("this program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Makes this process root of a new user namespace.
fn become_root_of_a_user_namespace(more: CloneFlags) {
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | more).expect("user namespaces are allowed");
    fs::write("/proc/self/setgroups", "deny").expect("allowed");
    fs::write("/proc/self/gid_map", format!("0 {gid} 1")).expect("allowed");
    fs::write("/proc/self/uid_map", format!("0 {uid} 1")).expect("allowed");
}

fn without_user_namespaces() {
    become_root_of_a_user_namespace(CloneFlags::empty());
    fs::write("/proc/sys/user/max_user_namespaces", "0").expect("its root may");
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .expect("allowed");

    assert_eq!(plimsoll_host::enter().expect("an answer"), Access::Local(Forbidden::MaxUserNamespaces));
    let error = Rig::build(&scenarios::row()).expect_err("namespace hosts cannot be made");
    assert_eq!(
        error.to_string(),
        "user namespaces are forbidden here by user.max_user_namespaces = 0; hosts of kind `local` still work"
    );
    assert!(error.advice().is_some_and(|a| a.contains("sysctl user.max_user_namespaces=")));
    let mut rig = Rig::build(&scenarios::locals()).expect("local hosts can");
    assert!(Agent::of(&mut rig, "one").ask("read /proc/self/comm").starts_with("exe"));
}

/// The kernel counts network namespaces until it has removed them, so building one rig after another shows that none is left.
fn with_three_network_namespaces() {
    become_root_of_a_user_namespace(CloneFlags::empty());
    fs::write("/proc/sys/user/max_net_namespaces", "3").expect("its root may");
    for _ in 0..4 {
        let mut rig = build_when_there_is_room();
        let one_more = Rig::build(&scenarios::row()).expect_err("the limit holds");
        assert!(
            one_more.to_string().contains("making its namespaces: No space left on device"),
            "{one_more}"
        );
        assert!(one_more.advice().is_some_and(|a| a.contains("user.max_net_namespaces")));
        rig.close().expect("it closes");
    }
}

/// Builds the rig as soon as the kernel has removed the one before. The kernel removes all namespaces of the machine one by one in the background,
/// within a fraction of a second on an idle machine. It never removes a leaked one.
fn build_when_there_is_room() -> Rig {
    let give_up = Instant::now() + Duration::from_secs(30);
    loop {
        match Rig::build(&scenarios::row()) {
            Ok(rig) => return rig,
            // The kernel has to remove the failed attempt's namespaces as well, so attempts without a pause would never end.
            Err(HostError::Host { .. }) if Instant::now() < give_up => {
                thread::sleep(Duration::from_millis(300));
            }
            Err(error) => panic!("namespaces of the rig before are left: {error}"),
        }
    }
}

/// A container that hides a file of `/proc`: the kernel then allows no mount of a `/proc` that shows it.
fn with_masked_proc() {
    become_root_of_a_user_namespace(CloneFlags::CLONE_NEWNS);
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).expect("allowed");
    let mask = Path::new("/proc/kallsyms");
    mount(Some("/dev/null"), mask, None::<&str>, MsFlags::MS_BIND, None::<&str>).expect("allowed");
    become_root_of_a_user_namespace(CloneFlags::empty());

    let mut rig = Rig::build(&scenarios::row()).unwrap_or_else(|e| panic!("{e}"));
    let notes = rig.notes("client").expect("it is there").join("\n");
    assert!(notes.starts_with("/proc shows the processes of the whole machine"), "{notes:?}");
    let mut server = Agent::of(&mut rig, "server");
    let mut firewall = Agent::of(&mut rig, "firewall");
    assert_eq!(server.ask("serve 0.0.0.0:80"), "ok");
    assert_eq!(firewall.ask("interfaces"), "lo eth0 eth1");
    let address = rig.address("server").expect("it is there");
    assert_eq!(Agent::of(&mut rig, "client").ask(&format!("fetch {address}:80")), "server");
}

/// An ordinary user who is root in his user namespace is not root of the machine.
fn with_caches_of_another() {
    let error = plimsoll_host::drop_caches().expect_err("the machine is not ours");
    assert!(matches!(error, HostError::DropCaches { .. }));
    assert!(error.advice().is_some_and(|a| a.contains("run as root")), "{error}");
}
