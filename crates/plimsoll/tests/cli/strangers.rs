//! A file from a stranger: its effects on the machine are listed beforehand, and its programs have few rights.

use serde_json::Value;

use crate::experiments::one_service;
use crate::lab::{Lab, Printed};

/// A program that tries what it should not be able to do, and what it needs. It prints both, and ends: its first argument is the id of a process
/// outside, the second a port, the third its scratch folder.
const NOSY: &str = r#"#!/usr/bin/env python3
import ctypes, os, socket, stat, sys
outsider, port, scratch = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
libc = ctypes.CDLL(None, use_errno=True)

def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]

def read(path):
    with open(path, "rb") as file:
        return file.read()

def write(path):
    with open(path, "w") as file:
        file.write("mine")
    return read(path) == b"mine"

def spied(file, what):
    for pid in processes():
        try:
            if pid != os.getpid() and what in read(f"/proc/{pid}/{file}"):
                return True
        except OSError:
            pass

def listening():
    with socket.create_server(("", port)):
        return True

def status(name):
    return [line.split()[1] for line in read("/proc/self/status").decode().splitlines() if line.startswith(name)]

forbidden = {
    "write to /etc": lambda: write("/etc/plimsoll-was-here"),
    "write to the folder where it was started": lambda: write("plimsoll-was-here"),
    "write to the program itself": lambda: open(sys.argv[0], "a"),
    "read /etc/shadow": lambda: read("/etc/shadow"),
    "see a variable of the caller": lambda: "A_SECRET" in os.environ,
    "see a variable of another process": lambda: spied("environ", b"A_SECRET"),
    "see the controller": lambda: spied("cmdline", b"plimsoll\0run"),
    "see somebody outside": lambda: os.path.exists(f"/proc/{outsider}"),
    "signal somebody outside": lambda: os.kill(outsider, 0) is None,
    "trace the agent": lambda: libc.ptrace(16, os.getppid(), 0, 0) == 0,
    "mount": lambda: libc.mount(b"none", b"/mnt", b"tmpfs", 0, None) == 0,
    "make the machine's files writable again": lambda: libc.mount(None, b"/", None, 32 | 4096, None) == 0,
    "become root": lambda: os.setuid(0) is None,
    "be root": lambda: os.getuid() == 0,
    "make a device": lambda: os.mknod(scratch + "/kmsg", stat.S_IFCHR | 0o666, os.makedev(1, 11)) is None,
    "change the root": lambda: os.chroot("/mnt") is None,
    "change a setting of its host": lambda: write("/proc/sys/net/ipv4/ip_forward"),
    "change the name of its host": lambda: socket.sethostname("mine") is None,
    "reach the world": lambda: socket.create_connection(("192.0.2.1", 80), timeout=0.2),
    "find sockets of the machine's services": lambda: os.listdir("/run") != [],
    "keep capabilities": lambda: {status("Cap" + set)[0] for set in ["Prm", "Eff", "Bnd", "Amb"]} != {16 * "0"},
    "take new privileges": lambda: status("NoNewPrivs") != ["1"],
}
needed = {
    "write to its scratch folder": lambda: write(scratch + "/file"),
    "write to /tmp": lambda: write("/tmp/file"),
    "write to /dev/shm": lambda: write("/dev/shm/file"),
    "have its scratch folder as home": lambda: os.environ["HOME"] == os.environ["TMPDIR"] == scratch,
    "have a variable of the file": lambda: os.environ["MODE"] == "as named",
    "have a variable that is passed": lambda: os.environ["A_TOKEN"] == "passed",
    "be where it was started": lambda: os.path.exists("nosy"),
    "read the machine's files": lambda: read("/etc/passwd"),
    "listen on a low port": listening,
}

def done(tries):
    names = []
    for name, attempt in tries.items():
        try:
            if attempt():
                names.append(name)
        except Exception:
            pass
    return names

could, missing = done(forbidden), sorted(set(needed) - set(done(needed)))
sys.exit(f"could: {could}; could not: {missing}; tried: {len(forbidden)}")
"#;

/// Number of attempts that must fail.
const TRIED: usize = 22;

fn nosy(lab: &Lab, more: &str) -> String {
    lab.file("nosy", NOSY);
    let outsider = std::process::id();
    let service = format!(
        "port = 80\nexec = [\"./nosy\", \"{outsider}\", \"{{port}}\", \"{{scratch}}\"]\nenv = {{ MODE = \"as named\" }}\npass_env = [\"A_TOKEN\"]\n{more}"
    );
    lab.file("nosy.toml", &one_service(&service))
}

fn run(lab: &Lab, args: &[&str]) -> Printed {
    let environment = [("A_SECRET", "secret"), ("A_TOKEN", "passed")];
    lab.plimsoll_in(&[&["run"], args].concat(), &environment)
}

fn could_do_nothing(lab: &Lab) {
    let experiment = nosy(lab, "");
    let nothing = format!("could: []; could not: []; tried: {TRIED}");
    run(lab, &[&experiment]).exits(3).says(&nothing);
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_program_of_a_file_that_root_runs_can_do_nothing_to_the_machine() {
    could_do_nothing(&Lab::of_root().allowing("secrets"));
}

#[test]
fn a_program_of_a_file_that_a_user_runs_can_do_nothing_to_the_machine() {
    could_do_nothing(&Lab::of_ordinary_user().allowing("secrets"));
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn on_a_local_host_a_program_of_root_is_nobody_all_the_same() {
    let lab = Lab::of_root().allowing("secrets,local");
    let experiment = nosy(&lab, "");
    let text = std::fs::read_to_string(&experiment).expect("it was just written");
    lab.file(
        "nosy.toml",
        &text.replace("[hosts.server]", "[hosts.server]\nkind = \"local\"").replace("port = 80\n", ""),
    );
    let output = run(&lab, &[&experiment]).exits(3).says("could not: [];");
    for thing in [
        "write to",
        "read /etc/shadow",
        "see a variable",
        "signal",
        "trace",
        "mount",
        "be root",
        "capabilities",
    ] {
        let could =
            output.stderr.split("could: ").nth(1).and_then(|rest| rest.split(';').next()).unwrap_or_default();
        assert!(!could.contains(thing), "{thing} in {could}");
    }
}

#[test]
fn a_program_with_all_rights_is_started_only_by_who_says_so() {
    let lab = Lab::of_ordinary_user();
    let leaves = "exec = [\"sh\", \"-c\", \"touch was-here; echo no more >&2; exit 7\"]";
    let confined = lab.file("confined.toml", &one_service(leaves));
    lab.plimsoll(&["run", &confined]).exits(3).says("Read-only file system").says("no more");
    let privileged = lab.file("privileged.toml", &one_service(&format!("{leaves}\nprivileged = true")));
    let output = lab.plimsoll(&["run", &privileged]).exits(2).prints_nothing();
    output
        .says("touch was-here")
        .says("with all rights of the caller")
        .says("`--allow privileged` allows that");
    let asked = |answer: &str| {
        let inside = format!("$PLIMSOLL run {privileged}");
        lab.script(&format!("echo {answer} | script -qec '{inside}' /dev/null"))
    };
    asked("n").exits(2).prints("Go on? [y/N]").prints("nothing was started");
    assert!(!lab.path("was-here").exists());
    asked("y").exits(3).prints("no more");
    std::fs::remove_file(lab.path("was-here")).expect("it was made");
    lab.plimsoll(&["run", &privileged, "--yes"]).exits(3).says("no more");
    assert!(lab.path("was-here").exists());
}

#[test]
fn what_a_file_does_to_the_machine_is_listed_with_every_level() {
    let lab = Lab::new();
    let text = one_service("exec = [\"./one\", \"{port}\"]").replace(
        "[hosts.server]",
        "[hosts.server]\nsysctls = { \"vm.swappiness\" = 10, \"net.ipv4.tcp_syncookies\" = 0 }",
    ) + "\n[factors.program]\nset = \"services.web.exec\"\nlevels = [[\"./one\", \"{port}\"], [\"sh\", \"-c\", \"true\\rharmless\"]]\n";
    let experiment = lab.file("listed.toml", &text);
    for command in ["describe", "check"] {
        let output = lab.plimsoll(&[command, &experiment]).exits(0);
        let output = output.prints("./one {port} (services.web.exec on server), as nobody");
        let output = output.prints("sh -c \"true\\rharmless\"").prints("vm.swappiness = 10");
        assert!(!output.stdout.contains("syncookies") && !output.stdout.contains('\r'), "{output:?}");
        let json = lab.plimsoll(&[command, &experiment, "--format", "json"]).exits(0).json();
        assert_eq!(json["schema"], format!("plimsoll.{command}/1"));
        let machine = json["machine"].as_array().expect("a list");
        let of = |kind: &str| machine.iter().filter(|effect| effect["kind"] == kind).collect::<Vec<&Value>>();
        assert_eq!(of("program").len(), 2, "{machine:?}");
        assert!(of("program").iter().all(|program| program["as"] == "nobody" && program["allow"].is_null()));
        assert_eq!(of("setting")[0]["needs"], "root");
    }
}

#[test]
fn no_experiment_that_comes_with_plimsoll_needs_a_question() {
    let lab = Lab::new();
    let list = lab.plimsoll(&["list", "--format", "json"]).exits(0).json();
    let names: Vec<String> = list
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| Some(format!("{}/{}", one["area"].as_str()?, one["name"].as_str()?)))
        .collect();
    assert!(names.len() > 20, "{list}");
    for name in names {
        let described = lab.plimsoll(&["describe", &name, "--format", "json"]).exits(0).json();
        let machine = described["machine"].as_array().expect("a list");
        assert!(
            !machine.is_empty() && machine.iter().all(|effect| effect["allow"].is_null()),
            "{name}: {machine:?}"
        );
    }
}

#[test]
fn a_file_that_would_have_the_kernel_or_postfix_start_something_as_root_is_refused() {
    let lab = Lab::new();
    let sysctl = |name: &str| {
        let host = format!("[hosts.server]\nsysctls = {{ \"{name}\" = \"|/tmp/mine\" }}");
        lab.file("refused.toml", &one_service("web = {}").replace("[hosts.server]", &host))
    };
    lab.plimsoll(&["check", &sysctl("kernel.core_pattern")])
        .exits(2)
        .says("the kernel runs a program as root");
    lab.plimsoll(&["check", &sysctl("kernel.modprobe")]).exits(2).says("the kernel runs a program as root");
    let postfix = |keys: &str| {
        let service = format!("{keys}\n[services.sink]\non = \"server\"\nsmtp_sink = {{}}");
        lab.file("postfix.toml", &one_service(&service))
    };
    for setting in [
        "daemon_directory = \"/tmp/mine\"",
        "mail_owner = \"root\"",
        "mydestination = \"/etc/shadow\"",
        "smtpd_recipient_restrictions = \"check_recipient_access regexp:/etc/shadow\"",
    ] {
        let file = postfix(&format!("postfix = {{ to = \"sink\", settings = {{ {setting} }} }}"));
        let refused = lab.plimsoll(&["check", &file]).exits(2);
        refused.says("not among the settings that a file may give Postfix");
    }
    let file = postfix("postfix = { to = \"sink\", settings = { in_flow_delay = \"$mail_owner\" } }");
    lab.plimsoll(&["check", &file]).exits(2).says("a time such as 30s, 5m or 1h");
    lab.file("main.cf", "daemon_directory = /tmp/mine\n");
    let file = postfix("postfix = { to = \"sink\" }\nconfig = \"main.cf\"");
    lab.plimsoll(&["check", &file]).exits(2).says("can start any program as root");
}
