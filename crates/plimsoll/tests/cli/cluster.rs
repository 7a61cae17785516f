//! A cluster that Slurm runs: its controller, and its nodes as network namespaces on one bridge, each with slurmd and a host name of its own. All of it is
//! Debian's, and none of it Plimsoll's; the machine may have another Slurm.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::lab::{Lab, wait_until};
use crate::machine;
use crate::reached::{first_words, only_child, stripped_in};

/// Makes the bridge, the key of munge(7), the controller and the nodes. All daemons end with this shell, which is the first process of a namespace.
const MAKE: &str = r#"
set -e
mount --make-rprivate /
cd $FOLDER
hostname head
ip link set lo up
ip link add cluster type bridge
ip addr add 10.98.0.254/24 dev cluster
ip link set cluster up
head -c 1024 /dev/urandom >key
mkdir munge
chmod 711 .
chmod 400 key
chmod 755 munge
chown munge: key munge
setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --key-file=$FOLDER/key --socket=$FOLDER/munge/socket \
    --pid-file=$FOLDER/munge/pid --seed-file=$FOLDER/munge/seed --log-file=$FOLDER/munge/log >munged.log 2>&1 &
while [ ! -S munge/socket ]; do sleep 0.02; done
slurmctld -D >slurmctld.log 2>&1 &
n=0
for name in $NODES; do
    n=$((n + 1))
    unshare --net --uts --mount --pid --mount-proc --fork --kill-child sh -c "hostname $name && ip link set lo up &&
        while ! ip link show eth0 >/dev/null 2>&1; do sleep 0.01; done &&
        ip addr add 10.98.0.$n/24 dev eth0 && ip link set eth0 up && exec slurmd -D >$name.log 2>&1" &
    pid=$!
    while [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    ip link add name $name type veth peer name eth0 netns $pid
    ip link set $name master cluster up
    readlink /proc/$pid/ns/net | tr -dc 0-9 >network-$name
done
echo ready
exec sleep infinity
"#;

/// Slurm's configuration: no control groups, no accounting, quick detection of lost nodes, and short arrays.
const CONFIGURATION: &str = "\
ClusterName=plimsoll
SlurmctldHost=head(10.98.0.254)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$FOLDER/munge/socket
CredType=cred/munge
StateSaveLocation=$FOLDER/state
SlurmdSpoolDir=$FOLDER/spool-%n
SlurmctldPidFile=$FOLDER/slurmctld.pid
SlurmdPidFile=$FOLDER/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdTimeout=6
MaxArraySize=11
KillWait=2
SchedulerParameters=batch_sched_delay=0,bf_interval=1
SlurmdParameters=config_overrides
";

/// A cluster, until this is dropped.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    all: Child,
    outside: u32,
}

impl Cluster {
    /// A cluster of these nodes, with one processor each.
    pub(crate) fn new(nodes: &[&str]) -> Self {
        assert!(nix::unistd::geteuid().is_root(), "this test needs root; `cargo xtask test` runs it");
        let folder = tempfile::tempdir().expect("a folder for the cluster");
        let here = folder.path();
        let mut text = CONFIGURATION.replace("$FOLDER", &here.display().to_string());
        for (name, number) in nodes.iter().zip(1..) {
            writeln!(text, "NodeName={name} NodeAddr=10.98.0.{number} CPUs=1 RealMemory=100").expect("text");
        }
        writeln!(text, "PartitionName=main Nodes=ALL Default=YES State=UP").expect("text");
        fs::write(here.join("slurm.conf"), text).expect("allowed");
        // The kernel ends it together with its parent.
        let mut all = Command::new("setpriv")
            .args([
                "--pdeathsig",
                "KILL",
                "unshare",
                "--net",
                "--uts",
                "--pid",
                "--mount-proc",
                "--fork",
                "--kill-child",
                "sh",
                "-c",
                MAKE,
            ])
            .env("FOLDER", here)
            .env("NODES", nodes.join(" "))
            .env("SLURM_CONF", here.join("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare starts");
        let said = first_words(&mut all);
        let outside = only_child(&all);
        let cluster = Self { folder, all, outside };
        assert_eq!(said, "ready\n", "{}", cluster.logs());
        wait_until("all nodes are idle", || cluster.slurm("sinfo --noheader --format %t").trim() == "idle");
        cluster
    }

    /// The program, started where jobs are submitted.
    pub(crate) fn lab(&self) -> Lab {
        let program = stripped_in(self.folder.path());
        Lab::of_root().by(&self.enter(), &program)
    }

    /// Output of one of Slurm's commands.
    pub(crate) fn slurm(&self, command: &str) -> String {
        let words = self.enter();
        let output = Command::new(&words[0])
            .args(&words[1..])
            .args(["sh", "-c", command])
            .output()
            .expect("nsenter starts");
        String::from_utf8(output.stdout).expect("it speaks UTF-8")
    }

    /// The jobs that are in the queue, each on a line with its state.
    pub(crate) fn queue(&self) -> String {
        self.slurm("squeue --noheader --array --states=pending,running --format '%i %j %T %N'")
    }

    /// Cuts the power of a node.
    pub(crate) fn kill(&self, node: &str) {
        let first = self.pid_of(node);
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(first), nix::sys::signal::Signal::SIGKILL)
            .expect("it runs");
    }

    /// Command lines with this word of all processes on a node.
    pub(crate) fn processes(&self, node: &str, word: &str) -> Vec<String> {
        let all = machine::processes_in(&BTreeSet::from([self.network(node)]));
        all.into_iter().filter(|line| line.split('\0').any(|one| one == word)).collect()
    }

    fn enter(&self) -> Vec<String> {
        let pid = self.outside.to_string();
        let conf = format!("SLURM_CONF={}", self.folder.path().join("slurm.conf").display());
        let path = format!("PATH={}", std::env::var("PATH").unwrap_or_default());
        ["nsenter", "--target", &pid, "--net", "--uts", "env", &conf, &path].map(ToOwned::to_owned).into()
    }

    fn network(&self, node: &str) -> u64 {
        let file = self.folder.path().join(format!("network-{node}"));
        fs::read_to_string(file).expect("it was made").parse().expect("a number")
    }

    /// The first process of a node, with which all others end: slurmd itself.
    fn pid_of(&self, node: &str) -> i32 {
        let network = BTreeSet::from([self.network(node)]);
        let first = machine::pids_in(&network).into_iter().find(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let inside = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
            inside.is_some_and(|all| all.split_whitespace().last() == Some("1"))
        });
        i32::try_from(first.expect("the node runs")).expect("a process id fits in an i32")
    }

    /// Logs of the daemons, for the message of a failed test.
    fn logs(&self) -> String {
        let log = |path: &Path| path.extension().is_some_and(|ending| ending == "log");
        let files =
            fs::read_dir(self.folder.path()).into_iter().flatten().flatten().map(|entry| entry.path());
        let texts = files.filter(|path| log(path)).map(|path| fs::read_to_string(path).unwrap_or_default());
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The kernel ends all of its processes with the first.
        self.all.kill().ok();
        self.all.wait().ok();
    }
}
