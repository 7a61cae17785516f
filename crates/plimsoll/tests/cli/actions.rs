//! Actions in the middle of a trial: `[[phases]] do = [...]`.

use crate::lab::Lab;

const TWO_HOSTS: &str = r#"
question = "What do the steps do?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
web = { model = "fork_per_connection" }
[loads.visitors]
from = "client"
to = "web"
http = { duration = "300ms", concurrency = 8 }
[run]
min_trials = 6
max_trials = 6
"#;

/// Rules that never apply, which each packet is compared with; then all is as it was.
const FAULT: &str = r#"
[[phases]]
name = "fault"
do = [{ run = { on = "server", privileged = true, command = ["sh", "-c", "{ echo add table ip t; echo 'add chain ip t c { type filter hook input priority 0; }'; i=0; while [ $i -lt 8000 ]; do i=$((i+1)); echo add rule ip t c tcp sport $i counter drop; done; } | nft -f - && for i in $(seq 50); do ip rule add from 10.1.0.$i table 77; done"] } }]
[[phases]]
name = "visits"
measure = "visitors"
"#;

#[test]
fn a_fault_in_mid_trial_is_a_factor_and_its_rules_can_be_taken_away() {
    let lab = Lab::new();
    let mended = r#"
[[phases]]
name = "mended"
do = [
  { flush_rules = { on = "server" } },
  { set = { on = "server", sysctls = { "net.ipv4.tcp_fin_timeout" = 7 } } },
  { run = { on = "server", privileged = true, command = ["sh", "-c", "test $(ip rule | wc -l) = 3 && test -z \"$(nft list ruleset)\" && test $(cat /proc/sys/net/ipv4/tcp_fin_timeout) = 7"] } },
  { restart = { service = "web" } },
]
[[phases]]
name = "later"
measure = "visitors"
[factors.fault]
set = "phases.fault.skip"
levels = [true, false]
[[claims]]
difference = { phase = "visits", factor = "fault", metric = "connections_per_second", expect = "slower" }
"#;
    let file = lab.file("fault.toml", &format!("{TWO_HOSTS}{FAULT}{mended}"));
    lab.plimsoll(&["run", &file]).exits(2).says("all rights");
    let report = lab.plimsoll_until_decided(&["run", &file, "--yes", "--format", "json"]).exits(0).json();
    assert_eq!(report["verdicts"][0]["outcome"], "slower", "{}", report["verdicts"]);
}

#[test]
fn a_service_that_is_stopped_by_a_signal_answers_nobody_until_it_goes_on() {
    let lab = Lab::new();
    let stopped = r#"
[[phases]]
name = "stopped"
do = [{ signal = { to = "web", signal = "SIGSTOP" } }]
[[phases]]
name = "deaf"
drive = "impatient"
[[phases]]
name = "goes_on"
do = [{ signal = { to = "web", signal = "SIGCONT" } }]
[[phases]]
name = "visits"
measure = "visitors"
[loads.impatient]
from = "client"
to = "web"
http = { connections = 4, concurrency = 4, timeout = "200ms" }
"#;
    let file = lab.file("stopped.toml", &format!("{TWO_HOSTS}{stopped}"));
    let one = ["run", &file, "--reps", "1", "--format", "json"];
    let report = lab.plimsoll(&one).exits(0).json();
    let phases = report["trials"][0]["phases"].as_array().expect("phases");
    let of = |name: &str| phases.iter().find(|phase| phase["name"] == name).expect("a phase of that name");
    assert_eq!(of("deaf")["connections"], 0, "{report}");
    assert!(of("visits")["connections"].as_u64() > Some(10), "{report}");
}

#[test]
fn a_program_that_fails_in_mid_trial_ends_the_run_with_its_last_words() {
    let lab = Lab::new();
    let fails = r#"
[[phases]]
name = "fails"
do = [{ run = { on = "server", command = ["sh", "-c", "echo no such disk >&2; exit 7"] } }]
[[phases]]
name = "visits"
measure = "visitors"
"#;
    let file = lab.file("fails.toml", &format!("{TWO_HOSTS}{fails}"));
    lab.plimsoll(&["run", &file, "--reps", "1"]).exits(3).says("no such disk").says("server");
}

#[test]
fn what_makes_no_sense_of_a_step_is_said_at_its_place() {
    let lab = Lab::new();
    let visits = "[[phases]]\nname = \"visits\"\nmeasure = \"visitors\"\n";
    for (step, expected) in [
        ("do = [{ flush_rules = { on = \"sever\" } }]", "there is no host `sever`"),
        ("do = [{ run = { on = \"server\", command = [] } }]", "the command is empty"),
        (
            "do = [{ set = { on = \"server\", sysctls = { \"vm.swappiness\" = 1 } } }]",
            "`vm.swappiness` is not a setting that a host has to itself",
        ),
        ("do = [{ signal = { to = \"web\", signal = \"SIGKILL\" } }]", "SIGKILL"),
        ("do = [{ restart = { service = \"wbe\" } }]", "there is no service `wbe`"),
        ("do = [{}]", "an action does not say what it is"),
        ("settle = { at_least = \"1s\" }\nskip = true", "there is nothing to leave out"),
    ] {
        let text = format!("{TWO_HOSTS}[[phases]]\nname = \"step\"\n{step}\n{visits}");
        let file = lab.file("step.toml", &text);
        lab.plimsoll(&["check", &file]).exits(2).says(expected);
    }
    let local = TWO_HOSTS.replace("[hosts.server]", "[hosts.server]\nkind = \"local\"");
    let text = format!(
        "{local}[[phases]]\nname = \"step\"\ndo = [{{ flush_rules = {{ on = \"server\" }} }}]\n{visits}"
    );
    let file = lab.file("local.toml", &text.replace("[[links]]\nbetween = [\"client\", \"server\"]\n", ""));
    lab.plimsoll(&["check", &file]).exits(2).says("it would be changed for everybody");
}
