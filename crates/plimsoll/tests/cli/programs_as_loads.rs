//! Foreign programs as loads: claims use the figures that they print.

use serde_json::Value;

use crate::lab::{Lab, verdict_of};

/// Two hosts; a service on one, and a load on the other.
fn experiment(service: &str, load: &str, claims: &str) -> String {
    format!(
        r#"
question = "What does the program say?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
{service}
[loads.program]
from = "client"
{load}
[[phases]]
name = "measured"
measure = "program"
slices = 3
{claims}
[run]
min_trials = 2
max_trials = 2
sample_hz = 5
"#
    )
}

const WEB: &str = "[services.web]\non = \"server\"\nweb = { clients = 16 }\n";
const REDIS: &str = r#"[services.redis]
on = "server"
port = 6379
exec = ["redis-server", "--bind", "{address}", "--port", "{port}", "--dir", "{scratch}", "--save", "", "--protected-mode", "no"]
"#;
const REDIS_LOAD: &str = r#"to = "redis"
exec = ["redis-benchmark", "-h", "{to.address}", "-p", "{to.port}", "-t", "set", "-n", "3000", "--csv"]
reads = "redis-benchmark"
"#;

/// Requires that every claim holds, and that the report has the program's figures.
#[track_caller]
fn holds(lab: &Lab, experiment: &str) -> Value {
    let file = lab.file("program.toml", experiment);
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits(0).json();
    for verdict in report["verdicts"].as_array().expect("verdicts") {
        assert_eq!(verdict["outcome"], "held", "{verdict}");
    }
    for phase in report["trials"][0]["phases"].as_array().expect("phases") {
        assert_eq!(phase["errors"], serde_json::json!({}), "{phase}");
        assert!(phase["figures"]["rate"].as_f64().is_some_and(|rate| rate > 0.0), "{phase}");
    }
    report
}

fn above(metric: &str, bound: &str) -> String {
    format!("[[claims]]\nlimit = {{ metric = \"{metric}\", above = {bound} }}\n")
}

fn below(metric: &str, bound: &str) -> String {
    format!("[[claims]]\nlimit = {{ metric = \"{metric}\", below = {bound} }}\n")
}

#[test]
fn a_shell_script_is_a_load_of_an_ordinary_user_and_its_figures_are_claimed() {
    let lab = Lab::of_ordinary_user();
    lab.file(
        "work",
        "#!/bin/sh\necho \"asked $1 at $2\" >&2\necho '{\"done\": {\"rate\": 120}, \"took\": \"2.5\"}'\n",
    );
    let load = r#"to = "web"
exec = ["./work", "{to.address}", "{to.port}"]
metrics = { rate = { json = "/done/rate", unit = "jobs" }, took = { json = "/took", unit = "ms", better = "lower" } }
"#;
    let claims =
        above("rate", "\"119 jobs\"") + &below("took", "\"3ms\"") + &below("error_share", "\"50 %\"");
    let report = holds(&lab, &experiment(WEB, load, &claims));
    let rate = &report["verdicts"][0];
    assert_eq!((&rate["metric"], &rate["estimate"]), (&"rate".into(), &120.0.into()));
    lab.plimsoll(&["show"]).exits(0).prints("jobs").prints("120");
    let file = lab.path("program.toml").display().to_string();
    lab.plimsoll(&["describe", &file])
        .exits(0)
        .prints("./work")
        .prints("as nobody")
        .prints("which reports rate, took");
}

#[test]
fn a_script_that_fails_is_a_failed_operation_with_its_last_words() {
    let lab = Lab::new();
    let load = "exec = [\"sh\", \"-c\", \"echo no such table >&2; exit 3\"]\n";
    let file = lab.file("fails.toml", &experiment("", load, &below("mean_ms", "\"10s\"")));
    let output = lab.plimsoll(&["run", &file, "--format", "json"]).exits(4);
    let reason = verdict_of(&output.json())["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("no such table") && reason.contains("exit status: 3"), "{reason}");
}

#[test]
fn a_script_is_confined_and_reaches_nothing_but_the_hosts_of_the_experiment() {
    let lab = Lab::new();
    let script = "ls /sys/class/net | tr '\\\\n' ' ' >&2; touch /etc/here 2>/dev/null && exit 9; echo uid $(id -u) rate 1";
    let load = format!(
        "exec = [\"sh\", \"-c\", \"{script}\"]\nmetrics = {{ rate = {{ regex = \"uid 65534 rate ([0-9]+)\" }} }}\n"
    );
    holds(&lab, &experiment("", &load, &above("rate", "0.5")));
}

#[test]
fn a_figure_that_the_program_does_not_print_is_refused_where_it_stands() {
    let lab = Lab::new();
    let file = lab.file("wrong.toml", &experiment(REDIS, REDIS_LOAD, &above("latency_p9", "1")));
    lab.plimsoll(&["check", &file])
        .exits(2)
        .says("the load `program` of the phase `measured` has no `latency_p9`")
        .says("latency_p95");
}

#[test]
#[ignore = "needs redis-server and redis-benchmark"]
fn redis_benchmark_is_a_load_and_its_latencies_are_claimed() {
    let claims = above("rate", "100") + &below("latency_p99", "\"2s\"");
    holds(&Lab::new(), &experiment(REDIS, REDIS_LOAD, &claims));
}

#[test]
#[ignore = "needs redis-server and redis-benchmark"]
fn redis_benchmark_is_a_load_of_an_ordinary_user() {
    holds(&Lab::of_ordinary_user(), &experiment(REDIS, REDIS_LOAD, &above("rate", "100")));
}

#[test]
#[ignore = "needs sysbench"]
fn sysbench_is_a_load_that_aims_at_nothing() {
    let load = r#"exec = { command = ["sysbench", "cpu", "--time={seconds}", "run"], reads = "sysbench", duration = "3s" }
"#;
    let report = holds(&Lab::of_ordinary_user(), &experiment("", load, &above("rate", "10")));
    assert_eq!(report["trials"][0]["phases"][0]["name"], "measured");
}

#[test]
#[ignore = "needs wrk"]
fn wrk_is_a_load_on_the_built_in_web_server() {
    let load = r#"to = "web"
exec = { command = ["wrk", "-d", "{seconds}", "-t", "1", "-c", "4", "--latency", "http://{to.address}:{to.port}/"], reads = "wrk", duration = "3s" }
"#;
    let claims = above("rate", "10") + &below("latency_p99", "\"2s\"");
    holds(&Lab::of_ordinary_user(), &experiment(WEB, load, &claims));
}

#[test]
#[ignore = "needs apache2-utils"]
fn ab_is_a_load_on_the_built_in_web_server() {
    let load = r#"to = "web"
exec = { command = ["ab", "-t", "{seconds}", "-n", "100000000", "-c", "4", "http://{to.address}:{to.port}/"], reads = "ab", duration = "3s" }
"#;
    let claims = above("rate", "10") + &below("latency_p99", "\"2s\"") + &below("errors", "1");
    holds(&Lab::of_ordinary_user(), &experiment(WEB, load, &claims));
}

#[test]
#[ignore = "needs postal and faketime"]
fn postal_is_ended_when_its_time_is_over_and_the_minutes_that_it_printed_are_claimed() {
    let sink = "[services.sink]\non = \"server\"\nsmtp_sink = {}\n";
    // It prints a row at the end of each minute of the clock. Its clock runs sixty times as fast here, so a minute is a second.
    let clock = std::fs::read_dir("/usr/lib").expect("a folder of libraries").find_map(|entry| {
        let library = entry.ok()?.path().join("faketime/libfaketime.so.1");
        library.exists().then_some(library)
    });
    let clock = clock.expect("libfaketime is installed");
    let load = format!(
        r#"to = "sink"
[loads.program.exec]
command = ["sh", "-c", "echo a@x.example > {{scratch}}/users; exec postal -t 2 -r 600 '[{{to.address}}]{{to.port}}' {{scratch}}/users"]
reads = "postal"
duration = "15s"
env = {{ LD_PRELOAD = "{}", FAKETIME = "+0 x60", DONT_FAKE_MONOTONIC = "1" }}
"#,
        clock.display()
    );
    let claims = above("messages", "1") + &above("rate", "1") + &below("errors", "1");
    let text = experiment(sink, &load, &claims).replace("slices = 3", "slices = 5");
    holds(&Lab::of_ordinary_user(), &text);
}

/// Each phase of a shipped experiment, cut short to two trials of each of its cells, for an ordinary user.
fn shipped(name: &str, cut: &[&str]) -> Vec<Value> {
    let settings = [cut, &["run.min_trials=2", "run.max_trials=2"]].concat();
    let mut arguments = vec!["run", name, "--quick", "--format", "json"];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    // Two trials decide nothing about a difference.
    let report = Lab::of_ordinary_user().plimsoll(&arguments).exits(4).json();
    let trials = report["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 4, "{report}");
    let phases = trials.iter().flat_map(|trial| trial["phases"].as_array().expect("phases"));
    let phases: Vec<Value> = phases.cloned().collect();
    for phase in &phases {
        assert_eq!(phase["errors"], serde_json::json!({}), "{phase}");
    }
    phases
}

#[test]
#[ignore = "needs postgresql"]
fn postgresql_is_made_filled_and_served_by_an_ordinary_user_and_transactions_are_committed() {
    let cut = ["loads.transactions.postgres.duration=\"5s\""];
    for phase in shipped("db/pgbench", &cut) {
        assert!(phase["figures"]["requests_per_second"].as_f64().is_some_and(|rate| rate > 1.0), "{phase}");
    }
}

/// Makes a database that asks for a password (SCRAM-SHA-256). A change of an account locks a branch first, and in half of the cases not the branch
/// that the transaction changes in the end. So transactions wait for one another in a circle.
const GUARDED: &str = r#"set -e
PATH="$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH"
export PGUSER=plimsoll
folder="{{scratch}}/data"
echo right >"{{scratch}}/password"
initdb --pgdata="$folder" --username=plimsoll --auth-local=trust --auth-host=scram-sha-256 --pwfile="{{scratch}}/password" --no-locale --no-sync >&2
echo "host all all all scram-sha-256" >>"$folder/pg_hba.conf"
pg_ctl --pgdata="$folder" --wait --silent --log="$folder/log" --options="-c listen_addresses= -c unix_socket_directories=$folder" start
pgbench --initialize --quiet --scale=2 --host="$folder" postgres >&2
psql --quiet --host="$folder" postgres >&2 <<'SQL'
CREATE FUNCTION lock_another() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN UPDATE pgbench_branches SET bbalance = bbalance WHERE bid = 1 + NEW.aid % 2; RETURN NEW; END $$;
CREATE TRIGGER lock_another BEFORE UPDATE ON pgbench_accounts FOR EACH ROW EXECUTE FUNCTION lock_another();
SQL
pg_ctl --pgdata="$folder" --wait --silent --mode=fast stop
exec postgres -D "$folder" -c listen_addresses={{address}} -p {{port}} -c unix_socket_directories= -c fsync=off -c deadlock_timeout=5ms
"#;

#[test]
#[ignore = "needs postgresql"]
fn postgresql_asks_for_a_password_and_ends_a_deadlock_by_aborting_one_of_its_transactions() {
    let lab = Lab::of_ordinary_user();
    lab.file("guarded.sh.in", GUARDED);
    let service = r#"[services.database]
on = "server"
port = 5432
exec = ["sh", "{config}"]
config = "guarded.sh.in"
ready.within = "120s"
"#;
    let load = r#"to = "database"
postgres = { clients = 8, scale = 2, user = "plimsoll", password = "right", duration = "4s" }
"#;
    let text = experiment(service, load, &above("error_share", "\"0.1 %\""))
        .replace("slices = 3", "slices = 10")
        .replace("_trials = 2", "_trials = 1");
    let file = lab.file("guarded.toml", &text);
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits(0).json();
    let phase = &report["trials"][0]["phases"][0];
    assert!(phase["figures"]["requests_per_second"].as_f64().is_some_and(|rate| rate > 1.0), "{phase}");
    // Deadlocks, and nothing else.
    let aborted = phase["postgres"]["aborted"].as_object().expect("transactions were aborted");
    assert_eq!(aborted.keys().collect::<Vec<_>>(), ["40P01"], "{phase}");
    let deferred = phase["errors"]["deferred"].as_u64();
    assert!(deferred.is_some() && deferred == aborted["40P01"].as_u64(), "{phase}");

    let wrong = ["--set", "loads.program.postgres.password=\"wrong\""];
    let report = lab.plimsoll(&[&["run", &file, "--format", "json"][..], &wrong].concat()).exits(4).json();
    let reason = verdict_of(&report)["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("password authentication failed"), "{reason}");
}

#[test]
#[ignore = "needs unbound"]
fn unbound_answers_an_ordinary_user_over_udp_and_tcp() {
    for phase in shipped("name/resolver", &["loads.questions.dns.duration=\"2s\""]) {
        assert!(phase["figures"]["requests_per_second"].as_f64().is_some_and(|rate| rate > 10.0), "{phase}");
        // Every fourth name is not there.
        let (there, all) = (&phase["dns"]["codes"]["NXDOMAIN"], &phase["dns"]["codes"]["NOERROR"]);
        let share = there.as_f64().zip(all.as_f64()).map(|(there, all)| there / (there + all));
        assert!(share.is_some_and(|share| (share - 0.25).abs() < 0.05), "{phase}");
    }
}
