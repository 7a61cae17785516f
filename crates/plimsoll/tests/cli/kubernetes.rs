//! Pods of Kubernetes: the real kubectl(1), and a server with as much of the API as it needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;

use crate::lab::{Lab, wait_until};
use crate::queued::{SWEEP, has_all_trials_once, is_interrupted_between_blocks, machines};
use crate::reached::{self, first_words, stripped_in};

/// A web server and a client, each in a pod.
fn pair() -> String {
    let client = r#"{ kubernetes = { image = "tools:1", node_selector = { disk = "ssd" }, resources = { cpu = "1" } } }"#;
    reached::pair(
        "Does a server in a pod answer?",
        client,
        r#"{ kubernetes = { image = "tools:1", namespace = "servers", privileged = true } }"#,
    )
}

/// A cluster, until this is dropped.
struct Cluster {
    folder: tempfile::TempDir,
    api: Child,
}

impl Cluster {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the cluster");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/kube_api.py");
        let mut api = Command::new("/usr/bin/python3");
        let mut api = api
            .args([Path::new(script), folder.path()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let port = first_words(&mut api);
        let config = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{}'}}}}]\n\
             users: [{{name: u, user: {{}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u, namespace: lab}}}}]\n\
             current-context: c\n",
            port.trim()
        );
        fs::write(folder.path().join("config"), config).expect("allowed");
        Self { folder, api }
    }

    /// The program, with this cluster in kubectl's configuration.
    fn lab(&self) -> Lab {
        let program = stripped_in(self.folder.path());
        let config = format!("KUBECONFIG={}", self.folder.path().join("config").display());
        Lab::of_root().by(&["env".to_owned(), config], &program)
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// Number of operations of a kind on Jobs.
    fn jobs(&self, done: &str) -> usize {
        self.file("requests").lines().filter(|line| line.starts_with(&format!("{done} job "))).count()
    }

    /// Submitted manifests of a kind.
    fn made(&self, kind: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.folder.path()).expect("it is there").flatten();
        let is_one =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(kind));
        files.map(|file| file.path()).filter(is_one).collect()
    }

    fn pods(&self) -> usize {
        self.file("pods").lines().count()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.api.kill().ok();
        self.api.wait().ok();
    }
}

/// Checks manifests against Kubernetes' published schemas, which allow no other fields.
fn is_valid(manifest: &Path) {
    let output = Command::new("/usr/bin/python3")
        .args(["-m", "kubernetes_validate", "--strict"])
        .arg(manifest)
        .env("PYTHONPATH", concat!(env!("CARGO_TARGET_TMPDIR"), "/python"))
        .output()
        .expect("python3 starts");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "needs root, kubectl and packages of python; cargo xtask test has them"]
fn pods_are_made_for_the_whole_run_and_removed_however_it_ends() {
    let cluster = Cluster::new();
    let lab = cluster.lab();
    let experiment = lab.file("pair.toml", &pair());
    lab.plimsoll(&["describe", &experiment]).exits(0).prints("reached by Kubernetes (image tools:1");
    let report =
        lab.plimsoll_until_decided(&["run", &experiment, "--yes", "--format", "json"]).exits(0).json();
    assert_eq!(report["trials"].as_array().map(Vec::len), Some(2));
    let notes = report["notes"].to_string();
    assert!(notes.contains("reached by Kubernetes") && notes.contains("brought along"), "{notes}");
    // Both trials were in the same two pods, one in the namespace of the configuration.
    let requests = cluster.file("requests");
    let changes: Vec<&str> = requests.lines().skip(1).collect();
    let of = |what: &str| changes.iter().filter(|line| line.starts_with(what)).count();
    let runs = of("create servers/");
    assert_eq!(
        (of("create lab/"), of("delete lab/"), of("delete servers/")),
        (runs, runs, runs),
        "{requests}"
    );
    assert_eq!(runs, changes.len() / 4, "{requests}");
    assert_eq!(cluster.pods(), 0);
    let pods = cluster.made("pod-");
    assert!(pods.len() >= 2);
    pods.iter().for_each(|file| is_valid(file));
    // Whatever ends the run removes its pods.
    let endless = lab.file("endless.toml", &pair().replace("_trials = 2", "_trials = 500"));
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let run = lab.start(&["run", &endless, "--yes"]);
        wait_until("its pods are there", || cluster.pods() == 2);
        run.signal(signal);
        let code = run.ends().code;
        assert_eq!(code, (signal == Signal::SIGINT).then_some(130));
        wait_until("no pod is left", || cluster.pods() == 0);
    }
}

#[test]
#[ignore = "needs root and kubectl; cargo xtask test has both"]
fn what_kubernetes_refuses_is_reported_in_its_words() {
    let cluster = Cluster::new();
    let lab = cluster.lab();
    let run = |text: &str| lab.plimsoll(&["run", &lab.file("pair.toml", text), "--yes"]).exits(3);
    run(&pair().replace("\"servers\"", "\"forbidden\""))
        .says("host server: Kubernetes hands out no machine for it")
        .says("cannot create resource \"pods\"")
        .says("kubectl auth can-i create pods");
    run(&pair().replace("tools:1\", namespace", "missing:1\", start_within = \"2s\", namespace"))
        .says("host server: Kubernetes handed out no machine for it within 2 s")
        .says("image missing:1 cannot be pulled")
        .says("hosts.server.reach.kubernetes.start_within");
    assert_eq!(cluster.pods(), 0);
    let odd = lab.file("odd.toml", &pair().replace("tools:1\", node", "--overrides\", node"));
    lab.plimsoll(&["check", &odd]).exits(2).says("is no image");
}

#[test]
#[ignore = "needs packages of python; cargo xtask test has them"]
fn the_manifest_that_comes_with_it_is_one() {
    for manifest in ["runner.yaml", "sweep.yaml"] {
        let all = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/kubernetes"));
        is_valid(&all.join(manifest));
    }
}

#[test]
#[ignore = "needs root, kubectl and packages of python; cargo xtask test has them"]
fn a_sweep_as_jobs_loses_a_node_in_the_middle_and_nothing_else() {
    let cluster = Cluster::new();
    let lab = cluster.lab();
    let sweep = lab.file("sweep.toml", SWEEP);
    let shared = lab.path("shared").display().to_string();
    let on = format!("kubernetes:image=tools:1,privileged=true,resource=cpu=1,claim=results,folder={shared}");
    let run = lab.start(&["run", &sweep, "--on", &on, "--seed", "7", "--format", "json"]);
    let begun = |node: &str| {
        let runs = fs::read_dir(&shared).into_iter().flatten().flatten();
        let blocks = runs.flat_map(|run| fs::read_dir(run.path()).into_iter().flatten().flatten());
        let mut trials = blocks.filter_map(|block| fs::read_dir(block.path().join(node)).ok()?.next());
        trials.next().is_some()
    };
    wait_until("a trial has ended on node2", || begun("node2"));
    fs::write(cluster.folder.path().join("lost-node2"), "").expect("allowed");
    let output = run.ends();
    let report = output.json();
    has_all_trials_once(&report);
    assert_eq!(output.code, Some(0));
    let machines = machines(&report);
    assert_eq!(machines.keys().collect::<Vec<_>>(), ["node1"], "{}", report["notes"]);
    assert_eq!(machines.values().map(BTreeSet::len).sum::<usize>(), 3, "{machines:?}");
    assert!(report["notes"].to_string().contains("was submitted again"), "{}", report["notes"]);
    lab.plimsoll(&["gate", "latest"]).exits(0);
    // Four Jobs, one of which was lost, and none of them is left.
    assert_eq!((cluster.jobs("create"), cluster.jobs("delete")), (4, 4), "{}", cluster.file("requests"));
    assert_eq!(fs::read_dir(&shared).map(Iterator::count).unwrap_or_default(), 0);
    cluster.made("job-").iter().for_each(|file| is_valid(file));
}

#[test]
#[ignore = "needs root and kubectl; cargo xtask test has both"]
fn a_sweep_as_jobs_is_cancelled_resumed_and_reports_what_the_cluster_refuses() {
    let cluster = Cluster::new();
    let lab = cluster.lab();
    let sweep = lab.file("sweep.toml", SWEEP);
    let on = |what: &str| lab.plimsoll(&["run", &sweep, "--on", what]);
    on("kubernetes:image=tools:1,namespace=forbidden")
        .exits(3)
        .says("kubectl failed")
        .says("cannot create resource \"jobs\"")
        .says("kubectl auth can-i create jobs");
    // Nothing else fits beside a task on a node.
    for node in ["node1", "node2"] {
        fs::write(cluster.folder.path().join(format!("lost-{node}")), "").expect("allowed");
    }
    on("kubernetes:image=tools:1,start_within=2s")
        .exits(3)
        .says("the queue started nothing within 2 s: the first task waits (0/2 nodes are available)");
    fs::remove_file(cluster.folder.path().join("lost-node1")).expect("it is there");
    assert_eq!(cluster.jobs("create"), cluster.jobs("delete"));
    is_interrupted_between_blocks(&lab, &sweep, "kubernetes:image=tools:1,at_once=1");
    assert_eq!(cluster.jobs("create"), cluster.jobs("delete"));
    // A controller that is killed leaves its tasks, and the next one finds them.
    let run = lab.start(&["run", "--resume", "latest", "--yes"]);
    wait_until("a task is there", || cluster.jobs("create") > cluster.jobs("delete"));
    run.signal(Signal::SIGKILL);
    assert_eq!(run.ends().code, None);
    let report = lab.plimsoll(&["run", "--resume", "latest", "--yes", "--format", "json"]).exits(0).json();
    has_all_trials_once(&report);
    assert_eq!(cluster.jobs("create"), cluster.jobs("delete"));
}
