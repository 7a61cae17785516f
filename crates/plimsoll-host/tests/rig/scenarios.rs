//! The stories.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll_host::{AgentStderr, HostError, HostSpec, LinkSpec, MARKER, NatSpec, Rig, RigSpec};
use plimsoll_model::experiment::HostKind;

use crate::agent::{self, Agent};
use crate::confined;
use crate::controller::Controller;

pub(crate) type Scenario = (&'static str, fn());

/// Stories of root and of ordinary users.
pub(crate) const ALL: &[Scenario] = &[
    ("a_host_has_its_own_name_processes_and_network", a_host_has_its_own_name_processes_and_network),
    (
        "the_client_reaches_the_server_only_through_the_firewall",
        the_client_reaches_the_server_only_through_the_firewall,
    ),
    (
        "two_rigs_with_the_same_addresses_do_not_see_each_other",
        two_rigs_with_the_same_addresses_do_not_see_each_other,
    ),
    ("a_link_has_the_mtu_that_was_asked_for", a_link_has_the_mtu_that_was_asked_for),
    (
        "rebuilding_a_host_empties_its_kernel_and_joins_it_again",
        rebuilding_a_host_empties_its_kernel_and_joins_it_again,
    ),
    ("a_host_has_as_many_addresses_as_it_was_given", a_host_has_as_many_addresses_as_it_was_given),
    ("clients_behind_a_translating_host_share_its_ports", clients_behind_a_translating_host_share_its_ports),
    (
        "a_pool_of_addresses_is_that_of_the_translating_host",
        a_pool_of_addresses_is_that_of_the_translating_host,
    ),
    ("closing_a_rig_ends_its_processes_also_twice", closing_a_rig_ends_its_processes_also_twice),
    (
        "an_agent_ends_at_the_end_of_its_stdin_and_its_host_with_it",
        an_agent_ends_at_the_end_of_its_stdin_and_its_host_with_it,
    ),
    (
        "a_killed_controller_leaves_nothing_of_its_namespace_hosts",
        a_killed_controller_leaves_nothing_of_its_namespace_hosts,
    ),
    (
        "a_killed_controller_leaves_nothing_of_its_local_hosts",
        a_killed_controller_leaves_nothing_of_its_local_hosts,
    ),
    ("local_hosts_have_addresses_of_their_own", local_hosts_have_addresses_of_their_own),
    ("an_agent_that_cannot_be_started_is_named", an_agent_that_cannot_be_started_is_named),
    ("files_written_in_a_host_belong_to_the_user", files_written_in_a_host_belong_to_the_user),
    ("where_namespaces_are_forbidden_the_reason_is_given_and_local_hosts_work", || {
        confined::passes("no user namespaces");
    }),
    ("a_closed_rig_leaves_no_network_namespace_behind", || confined::passes("three network namespaces")),
    ("where_proc_cannot_be_mounted_hosts_work_and_a_note_says_so", || confined::passes("masked proc")),
];

/// Stories of an ordinary user alone: root would succeed, at the whole machine's cost.
pub(crate) const USERS_ONLY: &[Scenario] =
    &[("who_may_not_drop_caches_gets_an_error", || confined::passes("caches of another"))];

/// Deadline for all remains to disappear after the controller's death.
const NOTHING_LEFT_AFTER: Duration = Duration::from_secs(2);

fn host(name: &str, kind: HostKind, forward: bool) -> HostSpec {
    HostSpec { forward, ..HostSpec::new(name, kind) }
}

fn link(a: &str, b: &str) -> LinkSpec {
    LinkSpec::new(a, b)
}

fn rig(hosts: Vec<HostSpec>, links: Vec<LinkSpec>) -> RigSpec {
    RigSpec {
        hosts,
        links,
        volumes: vec![],
        program: "/proc/self/exe".into(),
        args: vec![agent::ARGUMENT.into()],
        stderr: AgentStderr::Inherit,
        supervisor: None,
    }
}

/// client - firewall - server.
pub(crate) fn row() -> RigSpec {
    use HostKind::Namespace;
    let hosts = vec![
        host("client", Namespace, false),
        host("firewall", Namespace, true),
        host("server", Namespace, false),
    ];
    rig(hosts, vec![link("client", "firewall"), link("firewall", "server")])
}

pub(crate) fn locals() -> RigSpec {
    rig(vec![host("one", HostKind::Local, false), host("two", HostKind::Local, false)], vec![])
}

pub(crate) fn build(spec: &RigSpec) -> Rig {
    Rig::build(spec).unwrap_or_else(|e| panic!("{e}"))
}

fn a_host_has_its_own_name_processes_and_network() {
    let mut rig = build(&row());
    let mut client = Agent::of(&mut rig, "client");
    assert_eq!(client.ask("read /proc/sys/kernel/hostname"), "client");
    assert_eq!(client.ask("interfaces"), "lo eth0");
    assert_eq!(client.ask("processes"), "2", "init and the agent");
    let mut firewall = Agent::of(&mut rig, "firewall");
    assert_eq!(firewall.ask("interfaces"), "lo eth0 eth1");
    assert_eq!(firewall.ask("read /proc/sys/net/ipv4/ip_forward"), "1");
    assert_eq!(client.ask("read /proc/sys/net/ipv4/ip_forward"), "0");
    assert_eq!(client.ask("read /proc/sys/net/ipv6/conf/eth0/disable_ipv6"), "1");
    assert_eq!(client.ask("read /proc/sys/net/ipv4/conf/eth0/rp_filter"), "0");
    assert_eq!(rig.notes("client").expect("it is there"), [] as [&str; 0]);
    for kind in ["net", "pid", "mnt", "uts", "ipc"] {
        let inode = |pid: &str| fs::metadata(format!("/proc/{pid}/ns/{kind}")).expect("readable").ino();
        let of = |host| inode(&rig.pid(host).expect("it is there").to_string());
        assert_ne!(of("client"), inode("self"), "{kind} namespace");
        assert_ne!(of("client"), of("server"), "{kind} namespace");
    }
}

fn the_client_reaches_the_server_only_through_the_firewall() {
    let mut rig = build(&row());
    let [mut client, mut firewall, mut server] =
        ["client", "firewall", "server"].map(|h| Agent::of(&mut rig, h));
    let towards = |from, to| rig.address_towards(from, to).expect("a way leads there");
    assert_eq!(server.ask("serve 0.0.0.0:80"), "ok");
    assert_eq!(firewall.ask("serve 0.0.0.0:80"), "ok");
    assert_eq!(client.ask(&format!("fetch {}:80", towards("client", "server"))), "server");
    assert_eq!(client.ask(&format!("fetch {}:80", towards("client", "firewall"))), "firewall");
    assert_eq!(server.ask(&format!("fetch {}:80", towards("server", "firewall"))), "firewall");
    assert_ne!(towards("client", "firewall"), towards("server", "firewall"));
    assert_eq!(
        client.ask(&format!("fetch {}:80", towards("server", "firewall"))),
        "firewall",
        "its far side too"
    );

    assert_eq!(firewall.ask("write /proc/sys/net/ipv4/ip_forward 0"), "ok");
    let answer = client.ask(&format!("fetch {}:80", towards("client", "server")));
    assert!(answer.starts_with("error: "), "without forwarding there is no other way, but got {answer}");
}

fn two_rigs_with_the_same_addresses_do_not_see_each_other() {
    let spec = row();
    let (mut one, mut two) = (build(&spec), build(&spec));
    let address = one.address("server").expect("it is there");
    assert_eq!(address, two.address("server").expect("it is there"));
    let (mut server, mut neighbour) = (Agent::of(&mut one, "server"), Agent::of(&mut one, "firewall"));
    assert_eq!(server.ask("serve 0.0.0.0:80"), "ok");
    assert_eq!(neighbour.ask(&format!("fetch {address}:80")), "server");
    let mut client = Agent::of(&mut two, "client");
    let answer = client.ask(&format!("fetch {address}:80"));
    assert!(answer.contains("refused"), "the other host's server does not listen, but got {answer}");
    one.close().expect("it closes");
    assert_eq!(client.ask("interfaces"), "lo eth0", "the other host goes on");
}

fn a_link_has_the_mtu_that_was_asked_for() {
    let mut spec = row();
    spec.links[0].mtu = Some(9000);
    let mut rig = build(&spec);
    // The kernel shows an interface's MTU among its IPv6 settings too, and that even where IPv6 is off.
    for (host, interface, mtu) in
        [("client", "eth0", "9000"), ("firewall", "eth0", "9000"), ("server", "eth0", "1500")]
    {
        let path = format!("/proc/sys/net/ipv6/conf/{interface}/mtu");
        assert_eq!(Agent::of(&mut rig, host).ask(&format!("read {path}")), mtu, "{interface} of {host}");
    }
}

fn rebuilding_a_host_empties_its_kernel_and_joins_it_again() {
    let mut rig = build(&row());
    let [mut client, mut firewall, mut server] =
        ["client", "firewall", "server"].map(|h| Agent::of(&mut rig, h));
    let address = rig.address("server").expect("it is there");
    for agent in [&mut firewall, &mut server] {
        assert_eq!(agent.ask("rules 50"), "ok");
        assert!(agent.ask("rules 50").contains("File exists"), "the rules are there now");
    }
    assert_eq!(server.ask("serve 0.0.0.0:80"), "ok");
    assert_eq!(client.ask(&format!("fetch {address}:80")), "server");
    let old = rig.pid("firewall").expect("it is there");

    for _ in 0..3 {
        rig.rebuild("firewall").unwrap_or_else(|e| panic!("{e}"));
        firewall = Agent::of(&mut rig, "firewall");
        assert_eq!(firewall.ask("rules 50"), "ok", "none of the rules is left");
        assert_eq!(firewall.ask("read /proc/sys/net/ipv4/ip_forward"), "1");
        assert_eq!(firewall.ask("interfaces"), "lo eth0 eth1");
        assert_eq!(client.ask(&format!("fetch {address}:80")), "server", "the way through is there again");
        assert!(server.ask("rules 50").contains("File exists"), "the neighbour kept its own");
        assert_eq!(client.ask("interfaces"), "lo eth0", "nothing is left of the old link");
    }
    assert!(!Path::new(&format!("/proc/{old}")).exists(), "the old host is gone");

    rig.rebuild("server").unwrap_or_else(|e| panic!("{e}"));
    server = Agent::of(&mut rig, "server");
    assert_eq!(server.ask("serve 0.0.0.0:80"), "ok");
    assert_eq!(client.ask(&format!("fetch {address}:80")), "server");
}

/// client - firewall - server, where the client has three more addresses.
fn row_with_addresses() -> RigSpec {
    let mut spec = row();
    spec.hosts[0].addresses = 3;
    spec
}

/// Agents of the client and of the server; the server sends each peer its address.
fn client_and_mirror(rig: &mut Rig) -> [Agent; 2] {
    let [client, mut server] = ["client", "server"].map(|h| Agent::of(rig, h));
    assert_eq!(server.ask("mirror 0.0.0.0:80"), "ok");
    [client, server]
}

/// Peer addresses that the server sees, for a connection from each address of the client.
fn seen_from_the_server(rig: &Rig, client: &mut Agent) -> Vec<SocketAddr> {
    let to = rig.address_towards("client", "server").expect("a way leads there");
    let own = rig.own_addresses("client").expect("it is there");
    assert_eq!(own.len(), 3);
    let seen = own.iter().map(|from| client.ask(&format!("fetch {to}:80 {from}")));
    seen.map(|address| address.parse().unwrap_or_else(|_| panic!("{address}"))).collect()
}

fn a_host_has_as_many_addresses_as_it_was_given() {
    let mut rig = build(&row_with_addresses());
    let own = rig.own_addresses("client").expect("it is there");
    let [mut client, _server] = client_and_mirror(&mut rig);
    let seen: Vec<_> = seen_from_the_server(&rig, &mut client).iter().map(SocketAddr::ip).collect();
    assert_eq!(seen, own);
    assert!(rig.own_addresses("server").expect("it is there").is_empty());
}

fn clients_behind_a_translating_host_share_its_ports() {
    let mut spec = row_with_addresses();
    spec.hosts[1].nat = Some(NatSpec { of: vec!["client".into()], ports: Some((10_000, 10_004)) });
    let mut rig = build(&spec);
    let firewall = rig.address_towards("server", "firewall").expect("a way leads there");
    let [mut client, _server] = client_and_mirror(&mut rig);
    let seen = seen_from_the_server(&rig, &mut client);
    for from in &seen {
        assert_eq!(from.ip(), firewall, "{seen:?}");
        assert!((10_000..=10_004).contains(&from.port()), "{seen:?}");
    }
    rig.rebuild("firewall").unwrap_or_else(|e| panic!("{e}"));
    let seen = seen_from_the_server(&rig, &mut client);
    assert!(seen.iter().all(|from| from.ip() == firewall), "its rules are restored");
}

fn a_pool_of_addresses_is_that_of_the_translating_host() {
    let mut spec = row_with_addresses();
    spec.hosts[1].addresses = 2;
    spec.hosts[1].nat = Some(NatSpec { of: vec!["client".into()], ports: None });
    let mut rig = build(&spec);
    let pool = rig.own_addresses("firewall").expect("it is there");
    let [mut client, _server] = client_and_mirror(&mut rig);
    let seen = seen_from_the_server(&rig, &mut client);
    assert!(seen.iter().all(|from| pool.contains(&from.ip())), "{seen:?} of {pool:?}");
}

fn closing_a_rig_ends_its_processes_also_twice() {
    let mut rig = build(&row());
    let mut server = Agent::of(&mut rig, "server");
    assert!(server.ask("breed 50").contains("0"));
    let pids = ["client", "firewall", "server"].map(|h| rig.pid(h).expect("it is there"));
    let inodes = pids.map(network_of);
    rig.close().expect("it closes");
    assert_eq!(processes_in(&inodes), [] as [String; 0]);
    rig.close().expect("it is closed already");
    assert!(matches!(rig.pid("client"), Err(HostError::Closed(_))));
    assert!(matches!(rig.pipes("client"), Err(HostError::NoPipes(_))));
}

fn an_agent_ends_at_the_end_of_its_stdin_and_its_host_with_it() {
    let mut rig = build(&row());
    // The sibling hosts were started while this one's pipes were open, and must not keep them open.
    let mut client = Agent::of(&mut rig, "client");
    client.ask("breed 3");
    client.hang_up();
    let status = wait_for(|| rig.status("client").expect("asked")).expect("the host ended with its agent");
    assert!(status.success(), "{status}");
    assert!(rig.status("server").expect("asked").is_none(), "the others go on");
}

fn a_killed_controller_leaves_nothing_of_its_namespace_hosts() {
    killed_controller_leaves_nothing(HostKind::Namespace, 700);
}

fn a_killed_controller_leaves_nothing_of_its_local_hosts() {
    killed_controller_leaves_nothing(HostKind::Local, 300);
}

fn killed_controller_leaves_nothing(kind: HostKind, processes: u32) {
    let mut controller = Controller::start(kind, processes);
    let mark = format!("{MARKER}={}:", controller.id());
    let before = marked(&mark);
    assert!(before.len() > processes as usize, "only {} processes were there", before.len());
    let own = network_of(std::process::id());
    let networks = before.iter().map(|pid| network_of(*pid)).filter(|n| *n != own && *n != 0);
    let mut networks: Vec<u64> = networks.collect();
    networks.sort_unstable();
    networks.dedup();
    assert_eq!(networks.len(), if kind == HostKind::Local { 0 } else { 3 });

    controller.kill();
    let killed = Instant::now();
    while killed.elapsed() < NOTHING_LEFT_AFTER && !marked(&mark).is_empty() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(marked(&mark), [] as [u32; 0], "processes are left");
    // A dying process has no environment any more; the time for thousands of them depends on free CPUs.
    let empty = wait_for(|| processes_in(&networks).is_empty().then_some(()));
    let folders = |pid: &u32| {
        let start = format!("plimsoll-host-{pid}-");
        let names = fs::read_dir(std::env::temp_dir()).expect("readable").flatten().map(|e| e.file_name());
        names.filter(move |name| name.to_string_lossy().starts_with(&start)).count()
    };
    let gone = wait_for(|| before.iter().all(|pid| folders(pid) == 0).then_some(()));
    assert!(gone.is_some(), "a folder of a host is left");
    assert!(empty.is_some(), "left in the namespaces: {:?}", processes_in(&networks));
}

fn local_hosts_have_addresses_of_their_own() {
    let (mut one, two) = (build(&locals()), build(&locals()));
    let mut addresses: Vec<_> = [&one, &two]
        .iter()
        .flat_map(|rig| ["one", "two"].map(|h| rig.address(h).expect("it is there")))
        .collect();
    assert!(addresses.iter().all(std::net::IpAddr::is_loopback));
    assert_eq!(one.address_towards("two", "one").expect("one machine"), addresses[0]);
    let [mut first, mut second] = ["one", "two"].map(|h| Agent::of(&mut one, h));
    assert_eq!(first.ask(&format!("serve {}:0", addresses[0])), "ok");
    assert!(second.ask(&format!("serve {}:0", addresses[1])) == "ok");
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 4, "all are different");
    assert!(matches!(one.rebuild("one"), Err(HostError::NotRebuildable(_))));

    first.ask("breed 20");
    let agent = one.pid("one").expect("it is there");
    let mark = format!("{MARKER}={}:", std::process::id());
    let group = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|s| group_in(&s));
    let of_host = |group_id| marked(&mark).into_iter().filter(|pid| group(*pid) == Some(group_id)).count();
    let group_id = group(agent).expect("it lives");
    let bred = wait_for(|| (of_host(group_id) > 20).then_some(()));
    assert!(bred.is_some(), "{} of 20 and the agent", of_host(group_id));
    one.close().expect("it closes");
    assert_eq!(of_host(group_id), 0, "its orphans went with it");
}

fn an_agent_that_cannot_be_started_is_named() {
    for mut spec in [row(), locals()] {
        spec.program = "/nowhere/agent".into();
        let message = Rig::build(&spec).expect_err("there is no such program").to_string();
        assert!(message.contains("starting the agent /nowhere/agent: No such file"), "{message}");
    }
}

fn files_written_in_a_host_belong_to_the_user() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("written");
    let mut rig = build(&row());
    let answer = Agent::of(&mut rig, "client").ask(&format!("write {} text", path.display()));
    assert_eq!(answer, "ok");
    let owner = |path: &Path| fs::metadata(path).expect("it is there").uid();
    assert_eq!(owner(&path), owner(folder.path()));
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let give_up = Instant::now() + Duration::from_secs(10);
    loop {
        let seen = look();
        if seen.is_some() || Instant::now() > give_up {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").expect("readable").flatten().filter_map(|e| e.file_name().to_str()?.parse().ok())
}

/// The processes that have this text in their environment.
fn marked(mark: &str) -> Vec<u32> {
    let has = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|entry| entry.starts_with(mark.as_bytes()))
    };
    pids().filter(has).collect()
}

/// The inode of a process's network namespace; 0 if the process has ended.
fn network_of(pid: u32) -> u64 {
    fs::metadata(format!("/proc/{pid}/ns/net")).map_or(0, |m| m.ino())
}

fn processes_in(networks: &[u64]) -> Vec<String> {
    let inside = pids().filter(|pid| networks.contains(&network_of(*pid)));
    inside.map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()).collect()
}

/// The process group in `/proc/PID/stat`.
fn group_in(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}
