//! Several causes at once: what share of a loss each explains, alone and together.

use serde_json::Value;

use crate::explained::TWO_HOSTS;
use crate::lab::Lab;

/// Somebody who holds the server's processes to a quota and loads rules into the packet filter, both in one of two releases.
const RULES_AND_QUOTA: &str = r#"
[services.beside]
on = "server"
to = "web"
exec = ["sh", "-c", "g=$GROUP; mkdir -p $g && echo $QUOTA > $g/cpu.cfs_quota_us && for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" = web ] && echo ${p#/proc/} > $g/cgroup.procs; done; { echo add table ip t; echo 'add chain ip t c { type filter hook input priority 0; }'; i=0; while [ $i -lt $RULES ]; do i=$((i+1)); echo add rule ip t c tcp sport $i counter drop; done; } | nft -f - && exec python3 -m http.server {port}"]
privileged = true
env = { QUOTA = "-1", RULES = "0", GROUP = "/sys/fs/cgroup/cpu/plimsoll-test-both" }
[factors.quota]
set = "services.beside.env.QUOTA"
levels = ["-1", "12000"]
[factors.rules]
set = "services.beside.env.RULES"
levels = ["0", "4000"]
[[cells]]
quota = "-1"
rules = "0"
[[cells]]
quota = "12000"
rules = "4000"
[[claims]]
difference = { phase = "visits", against = { quota = "-1", rules = "0" }, metric = "connections_per_second", expect = "slower" }
"#;

#[test]
#[ignore = "needs control groups of version 1, as the machine of the CI has them"]
fn of_two_faults_at_once_each_has_its_share_of_the_loss_and_both_together_all_of_it() {
    let lab = Lab::of_root();
    let file = lab.file("both.toml", &format!("{TWO_HOSTS}{RULES_AND_QUOTA}"));
    let settings = [
        "services.web.web.model=prefork",
        "services.web.web.clients=16",
        "loads.visitors.http.concurrency=4",
        // Long enough for many samples of the throttled server. The other one needs more ports for that.
        "loads.visitors.http.duration=1500ms",
        "hosts.client.sysctls.\"net.ipv4.ip_local_port_range\"=5000 65535",
    ];
    let mut args = vec!["run", &file, "--yes", "--format", "json"];
    args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let report = lab.plimsoll_until_decided(&args).exits(0).json();
    let run = report["run"].as_str().expect("an id");
    let causes = ["net.rule_chain", "cpu.quota_throttled"];
    let named = |cause: &str| report["causes"].as_array().expect("causes").iter().any(|it| it["id"] == cause);
    assert!(causes.into_iter().all(named), "{}", report["causes"]);
    lab.plimsoll(&["explain", run]).exits(0).prints(&format!("plimsoll explain {run} --confirm="));
    let first_two = ["explain", run, "--confirm=2", "--yes", "--format", "json"];
    let confirmed = lab.plimsoll_until_decided(&first_two).exits(0).json();
    // All of its processes have ended with their hosts.
    std::fs::remove_dir("/sys/fs/cgroup/cpu/plimsoll-test-both").expect("the group is empty");
    let verdicts = confirmed["verdicts"].as_array().expect("verdicts");
    let of = |verdict: &Value| (verdict["causes"].clone(), verdict["estimate"].as_f64().expect("a share"));
    let [together, first, second]: [_; 3] =
        verdicts.iter().map(of).collect::<Vec<_>>().try_into().expect("three verdicts");
    assert_eq!(together.0.as_array().map(Vec::len), Some(2), "{verdicts:?}");
    assert!((0.85..1.15).contains(&together.1), "{verdicts:?}");
    for (cause, share) in [&first, &second] {
        assert!(causes.iter().any(|it| *cause == serde_json::json!([it])), "{cause}");
        assert!((0.25..0.75).contains(share), "{cause}: {share}");
    }
    // Each makes a connection more expensive for the server, so that their factors multiply.
    assert!((0.7..1.2).contains(&(first.1 + second.1)), "{verdicts:?}");
    let says = |at: usize, what: &str| verdicts[at]["reason"].as_str().expect("a reason").contains(what);
    assert!(says(0, "alone they add up to") && says(1, "beside the other it adds"), "{verdicts:?}");
    let explained = lab.plimsoll(&["explain", run, "--format", "json"]).exits(0).json();
    let known = |at: usize| explained["causes"][at]["confirmed"] == true;
    assert!(known(0) && known(1), "{}", explained["causes"]);
    let id = confirmed["run"].as_str().expect("an id");
    lab.plimsoll(&["show", id, "--details"])
        .exits(0)
        .prints("intervention = all")
        .prints("intervention = net.rule_chain");
    lab.plimsoll(&["show", id, "--format", "html"]).exits(0).prints("Without cpu.quota_throttled, ");
}
