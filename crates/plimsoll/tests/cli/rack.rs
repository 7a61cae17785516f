//! Three machines in a rack, as ssh(1) sees them: network namespaces on one bridge, each with Debian's sshd, and one more namespace for the controller.
//! None of it is Plimsoll's.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::lab::Lab;
use crate::machine;
use crate::reached::{first_words, only_child, stripped_in};

/// The machines. Their addresses are 10.99.0.1 and so on.
pub(crate) const MACHINES: [&str; 3] = ["client", "firewall", "server"];

/// Makes the bridge, and the machines with their servers. A folder of its own stands in for /tmp on each, of this size.
const MAKE: &str = r#"
set -e
mkdir -p /run/sshd
ip link set lo up
ip link add rack type bridge
ip addr add 10.99.0.254/24 dev rack
ip link set rack up
n=0
for name in client firewall server; do
    n=$((n + 1))
    unshare --net --mount sh -c "mount --make-rprivate / && mount -t tmpfs -o mode=1777,size=$SIZE none /tmp && ip link set lo up &&
        exec /usr/sbin/sshd -D -f $FOLDER/sshd_config" &
    pid=$!
    while [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    ip link add name $name type veth peer name eth0 netns $pid
    ip link set $name master rack up
    nsenter --net=/proc/$pid/ns/net sh -c "ip addr add 10.99.0.$n/24 dev eth0 && ip link set eth0 up"
    readlink /proc/$pid/ns/net | tr -dc 0-9 >$FOLDER/network-$name
done
for n in 1 2 3; do
    tries=0
    until $FOLDER/bin/ssh -o BatchMode=yes root@10.99.0.$n true 2>$FOLDER/why; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || { cat $FOLDER/why; exit 1; }
        sleep 0.05
    done
done
echo ready
exec sleep infinity
"#;

/// Three machines, until this is dropped.
pub(crate) struct Rack {
    folder: tempfile::TempDir,
    all: Child,
    outside: u32,
}

impl Rack {
    /// A rack with this room for temporary files on each machine (`64m`).
    pub(crate) fn new(size: &str) -> Self {
        assert!(nix::unistd::geteuid().is_root(), "this test needs root; `cargo xtask test` runs it");
        // Not in /tmp, which the machines do not see.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the rack");
        keys(folder.path());
        stripped_in(folder.path());
        let mut all = Command::new("unshare")
            .args(["--net", "--pid", "--mount-proc", "--fork", "--kill-child", "sh", "-c", MAKE])
            .env("FOLDER", folder.path())
            .env("SIZE", size)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare starts");
        let said = first_words(&mut all);
        assert_eq!(said, "ready\n", "{}", fs::read_to_string(folder.path().join("why")).unwrap_or_default());
        let outside = only_child(&all);
        Self { folder, all, outside }
    }

    /// The program, started in the controller's namespace by a user who may reach the machines.
    pub(crate) fn lab(&self) -> Lab {
        let path = std::env::var("PATH").unwrap_or_default();
        let words = [
            "nsenter".to_owned(),
            format!("--net=/proc/{}/ns/net", self.outside),
            "env".to_owned(),
            format!("PATH={}:{path}", self.folder.path().join("bin").display()),
        ];
        Lab::of_root().by(&words, &self.folder.path().join("plimsoll"))
    }

    /// Pulls the cable of a machine.
    pub(crate) fn cut(&self, machine: &str) {
        let network = format!("--net=/proc/{}/ns/net", self.outside);
        run(Command::new("nsenter").args([&network, "ip", "link", "set", machine, "down"]));
    }

    /// Output of a command that runs on a machine, without its network.
    pub(crate) fn on(&self, machine: &str, command: &str) -> String {
        let pid = machine::one_in(self.network(machine)).expect("its server runs").to_string();
        let mut enter = Command::new("nsenter");
        enter.args(["--target", &pid, "--net", "--mount", "sh", "-c", command]);
        let output = enter.output().expect("nsenter starts");
        String::from_utf8(output.stdout).expect("it speaks UTF-8").trim().to_owned()
    }

    /// Remains of Plimsoll on the machines: its processes, and files in their folders for temporary files.
    pub(crate) fn left(&self) -> Vec<String> {
        let networks: BTreeSet<u64> = MACHINES.map(|machine| self.network(machine)).into();
        let processes = machine::processes_in(&networks);
        let processes = processes.into_iter().filter(|line| line.split('\0').any(|word| word == "agent"));
        let files = MACHINES.map(|machine| self.on(machine, "ls -A /tmp"));
        processes.chain(files.into_iter().filter(|names| !names.is_empty())).collect()
    }

    fn network(&self, machine: &str) -> u64 {
        let file = self.folder.path().join(format!("network-{machine}"));
        fs::read_to_string(file).expect("it was made").parse().expect("a number")
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        // The kernel ends all of its processes with the first.
        self.all.kill().ok();
        self.all.wait().ok();
    }
}

/// Keys of the servers and of the user, configurations of sshd, and an ssh that uses its own configuration.
fn keys(folder: &Path) {
    for name in ["host_key", "user_key"] {
        run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(name)));
    }
    let write = |name: &str, text: String| -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).expect("allowed");
        path
    };
    let here = folder.display();
    fs::copy(folder.join("user_key.pub"), folder.join("authorized_keys")).expect("allowed");
    let host_key = fs::read_to_string(folder.join("host_key.pub")).expect("it was made");
    write("known_hosts", format!("10.99.0.* {host_key}"));
    write(
        "sshd_config",
        format!(
            "HostKey {here}/host_key\nAuthorizedKeysFile {here}/authorized_keys\nStrictModes no\nUsePAM no\nPidFile none\n\
             PasswordAuthentication no\nPermitRootLogin prohibit-password\n"
        ),
    );
    write(
        "ssh_config",
        format!(
            "Host *\nIdentityFile {here}/user_key\nIdentitiesOnly yes\nUserKnownHostsFile {here}/known_hosts\n\
             StrictHostKeyChecking yes\n"
        ),
    );
    fs::create_dir(folder.join("bin")).expect("allowed");
    let ssh = write("bin/ssh", format!("#!/bin/sh\nexec /usr/bin/ssh -F {here}/ssh_config \"$@\"\n"));
    fs::set_permissions(ssh, fs::Permissions::from_mode(0o755)).expect("allowed");
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
