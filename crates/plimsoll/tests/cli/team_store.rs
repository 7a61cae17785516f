//! Runs on a server that a team shares. Its PostgreSQL asks for a password in every story, so that the tests can look
//! for it in all output.

use std::fs;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::captured::STREAM;
use crate::lab::{Lab, Printed, Process, wait_until};
use crate::served;
use crate::stores::SHORT;

/// The password that no output may have.
const PASSWORD: &str = "open-sesame-7";

const MAKE: &str = r#"set -e
PATH="$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH"
printf %s "$PASSWORD" >password
initdb --pgdata=data --username=team --auth=scram-sha-256 --pwfile=password --encoding=UTF8 --no-locale --no-sync >log 2>&1
rm password
"#;

/// Starts the server. Processes of a killed one may stay for a moment.
const SERVE: &str = r#"
PATH="$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH"
exec postgres -D data -c unix_socket_directories="$PWD" -c fsync=off -c listen_addresses=
"#;

/// An experiment whose trials last long enough for events between them.
fn lasting() -> String {
    SHORT.replace("connections = 20", "duration = \"1s\"")
}

struct Team {
    lab: Lab,
    server: Option<Process>,
    url: String,
}

impl Team {
    fn new() -> Self {
        let lab = Lab::of_ordinary_user();
        lab.script(&format!("PASSWORD={PASSWORD}\n{MAKE}")).exits(0);
        let url = format!("postgres://team:{PASSWORD}@/postgres?host={}", lab.folder().display());
        let mut team = Self { lab, server: None, url };
        team.start();
        team
    }

    /// Starts the server, and waits until it answers.
    fn start(&mut self) {
        wait_until("the server answers", || {
            thread::sleep(Duration::from_millis(100));
            let has_ended = |server: &mut Process| server.has_ended();
            if self.server.as_mut().is_none_or(has_ended) {
                self.server = Some(self.lab.start_script(SERVE));
            }
            self.plimsoll(&["history"]).code == Some(0)
        });
    }

    /// Kills the server, as a power failure does.
    fn kill(&mut self) {
        let server = self.server.take().expect("it runs");
        server.signal(Signal::SIGKILL);
        server.ends();
        wait_until("nobody answers", || self.plimsoll(&["history"]).code == Some(3));
    }

    /// Runs the program on the shared store.
    fn plimsoll(&self, args: &[&str]) -> Printed {
        keeps_the_secret(self.lab.plimsoll_in(args, &[("PLIMSOLL_STORE", &self.url)]))
    }

    /// Runs the program on a store of its own.
    fn plimsoll_at(&self, store: &str, args: &[&str]) -> Printed {
        keeps_the_secret(self.lab.plimsoll(&[args, &["--store", store]].concat()))
    }

    /// Starts a run of `trials` trials that is kept on the server.
    fn begin(&self, experiment: &str, trials: &str, more: &str) -> Process {
        let (url, words) = (&self.url, format!("run {experiment} --reps {trials} --seed 7 {more}"));
        self.lab.start_script(&format!("export PLIMSOLL_STORE='{url}'\nexec \"$0\" {words}"))
    }

    /// Waits until a store has more trials of the newest run than these. It polls rarely, because a poll takes CPU time from the run.
    fn wait_for_trials_beyond(&self, known: usize, store: &str) {
        wait_until("more trials are stored", || {
            thread::sleep(Duration::from_millis(200));
            self.trials(store) > known
        });
    }

    /// Number of trials of the newest run in a store.
    fn trials(&self, store: &str) -> usize {
        let output = self.plimsoll_at(store, &["show", "latest", "--format", "json"]);
        let count = |report: Value| report["trials"].as_array().map_or(0, Vec::len);
        if output.code == Some(0) { count(output.json()) } else { 0 }
    }

    /// This machine's own file of runs.
    fn own(&self) -> String {
        self.lab.path("state/plimsoll/runs.sqlite").display().to_string()
    }

    fn id(&self, store: &str) -> String {
        let all = self.plimsoll_at(store, &["history", "--format", "json"]).exits(0).json();
        all[0]["run"].as_str().expect("there is a run").to_owned()
    }
}

#[track_caller]
fn keeps_the_secret(output: Printed) -> Printed {
    assert!(!output.stdout.contains(PASSWORD) && !output.stderr.contains(PASSWORD), "{output:?}");
    output
}

#[test]
#[ignore = "needs postgresql"]
fn a_run_on_a_server_is_what_one_in_a_file_is_for_every_command_and_goes_from_one_to_the_other() {
    let team = Team::new();
    let experiment = team.lab.file("stream.toml", STREAM);
    team.plimsoll(&["run", &experiment, "--seed", "7", "--tag", "nightly"]).exits(4).says("/team/reports/");
    let own = team.own();
    team.plimsoll_at(&own, &["history"]).exits(0).prints_nothing();
    let captures = |of: &str| fs::read_dir(team.lab.path(of)).is_ok_and(|mut runs| runs.next().is_some());
    assert!(!captures("state/plimsoll/captures") && !captures("state/plimsoll/team/captures"));
    let id = team.id(&team.url);
    let file = team.lab.path("copy.sqlite").display().to_string();
    team.plimsoll_at(&file, &["pull", "latest", "--from", &team.url])
        .exits(0)
        .says("was copied: 2 trials, 2 files of packets");
    team.plimsoll_at(&file, &["pull", "latest", "--from", &team.url]).exits(0).says("already exists");
    team.plimsoll_at(&file, &["push", &id, "--to", &team.url]).exits(0).says("already exists");
    for words in [
        &["show", "latest", "--format", "json"][..],
        &["show", "latest", "--details"],
        &["show", "latest", "--format", "html"],
        &["gate", "latest", "--format", "junit"],
        &["export", "latest", "--format", "csv"],
        &["history"],
        &["history", "--tag", "nightly"],
    ] {
        let (there, here) = (team.plimsoll(words), team.plimsoll_at(&file, words));
        assert!(!there.stdout.is_empty());
        assert_eq!((there.code, there.stdout), (here.code, here.stdout), "{words:?}");
    }
    // The packets were brought from the server for the page that draws them.
    assert!(captures("state/plimsoll/team/captures") && !captures("state/plimsoll/captures"));
    team.plimsoll(&["show", "latest", "--format", "html"]).prints("id=\"connection-picker\"");
    // Management works as in a file.
    team.plimsoll(&["baseline", "set", &id, "release"]).exits(0);
    team.plimsoll(&["compare", "release", &id]).exits(4);
    team.plimsoll(&["rm", "latest"]).exits(2).says("is the baseline `release`");
    team.plimsoll(&["baseline", "rm", "release"]).exits(0);
    team.plimsoll(&["prune", "--keep", "0"]).exits(0).says("0 runs");
    team.plimsoll(&["tag", &id, "--remove", "nightly", "--note", "seen"]).exits(0);
    let script = format!("--store '{}'", team.url);
    team.plimsoll(&["rm", &id, "--dry-run"]).exits(0);
    let Team { lab, server, url } = team;
    let pages = served::Server::of(lab, &script);
    for page in ["/", &format!("/runs/{id}")] {
        let page = pages.get(page);
        assert_eq!(page.status, 200);
        assert!(page.text.contains(&id) && page.text.contains("seen") && !page.text.contains(PASSWORD));
    }
    keeps_the_secret(pages.lab.plimsoll_in(&["rm", &id], &[("PLIMSOLL_STORE", &url)])).exits(0);
    assert_eq!(pages.get(&format!("/runs/{id}")).status, 404);
    drop(server);
}

#[test]
#[ignore = "needs postgresql"]
fn six_runs_are_written_to_one_server_at_once() {
    let team = Team::new();
    let experiment = team.lab.file("short.toml", SHORT);
    let runs: Vec<Process> = (0..6).map(|_| team.begin(&experiment, "1", "")).collect();
    for run in runs {
        let output = keeps_the_secret(run.ends());
        assert!(matches!(output.code, Some(0 | 4)), "{output:?}");
    }
    let all = team.plimsoll(&["history", "--format", "json"]).exits(0).json();
    let all = all.as_array().expect("a list").clone();
    assert!(all.len() == 6 && all.iter().all(|run| run["status"] == "complete"), "{all:?}");
}

#[test]
#[ignore = "needs postgresql"]
fn a_run_goes_on_while_its_server_is_killed_and_loses_nothing_when_that_comes_back() {
    let mut team = Team::new();
    let experiment = team.lab.file("lasting.toml", &lasting());
    let run = team.begin(&experiment, "4", "--store-wait 60s");
    team.wait_for_trials_beyond(0, &team.url);
    // Another machine sees it go on, and may not go on with it.
    team.plimsoll(&["history"]).exits(0).prints(" running ");
    let holder = format!("is being carried out by process {} on ", run.id());
    team.plimsoll(&["run", "--resume"]).exits(3).prints_nothing().says(&holder);
    team.kill();
    let known = team.trials(&team.own());
    team.wait_for_trials_beyond(known, &team.own());
    team.start();
    let output = keeps_the_secret(run.ends());
    assert!(matches!(output.code, Some(0 | 4)), "{output:?}");
    output.says("the run goes on, and is kept in").says("is back, and has");
    assert_eq!(team.trials(&team.url), 4);
    team.plimsoll(&["history"]).exits(0).prints(" complete ");
    team.plimsoll_at(&team.own(), &["history"]).exits(0).prints_nothing();
}

#[test]
#[ignore = "needs postgresql"]
fn what_a_server_that_is_gone_for_good_lacks_stays_here_and_is_pushed_later() {
    let mut team = Team::new();
    let experiment = team.lab.file("lasting.toml", &lasting());
    let run = team.begin(&experiment, "3", "--store-wait 1s --no-live");
    team.wait_for_trials_beyond(0, &team.url);
    team.kill();
    let output = keeps_the_secret(run.ends()).exits(3);
    assert!(output.stdout.contains("How fast is it?"), "the results are missing: {output:?}");
    let (own, id) = (team.own(), team.id(&team.own()));
    let command = format!("plimsoll push {id} --store {own} --to 'postgres://team@/postgres?host=");
    output.says(&format!("the run {id} is whole in {own}")).says(&command);
    let refused = team.plimsoll(&["run", &experiment]).exits(3).prints_nothing();
    refused.says("cannot open the runs in postgres://team@/postgres?host=");
    let here = team.plimsoll_at(&own, &["show", &id, "--format", "json"]).exits(0).json();
    assert_eq!(here["trials"].as_array().map(Vec::len), Some(3));
    team.start();
    // PostgreSQL's own file of passwords serves as well as one in the URL.
    team.lab.script(&format!("umask 077 && echo '*:*:*:team:{PASSWORD}' >.pgpass")).exits(0);
    let bare = team.url.replace(&format!(":{PASSWORD}"), "");
    team.plimsoll_at(&own, &["push", &id, "--to", &bare]).exits(0).says("was copied: 3 trials");
    assert_eq!(team.plimsoll(&["show", &id, "--format", "json"]).exits(0).json(), here);
}

#[test]
#[ignore = "needs postgresql"]
fn the_doctor_names_a_run_that_was_killed_while_its_server_was_away_and_how_to_hand_it_on() {
    let mut team = Team::new();
    let experiment = team.lab.file("lasting.toml", &lasting());
    // A run that belongs in the file.
    let own = team.own();
    team.plimsoll_at(&own, &["run", &team.lab.file("short.toml", SHORT), "--reps", "1"]);
    let run = team.begin(&experiment, "9", "");
    team.wait_for_trials_beyond(0, &team.url);
    team.plimsoll(&["doctor", "--dry-run"]).exits(0).prints("not handed on none");
    team.kill();
    let known = team.trials(&team.own());
    // The newest trial may not have ended; the server must lack one that has.
    team.wait_for_trials_beyond(known + 1, &team.own());
    run.signal(Signal::SIGKILL);
    run.ends();
    let id = team.id(&own);
    team.plimsoll(&["doctor", "--dry-run"]).exits(0).prints(&format!("without the server; {own} has 2 runs"));
    team.start();
    let hand_on =
        format!("to hand it on: plimsoll push {id} --store {own} --to 'postgres://team@/postgres?host=");
    team.plimsoll(&["doctor", "--dry-run"])
        .exits(0)
        .prints(&format!("not handed on 1, in {own} {id} of lasting: postgres://team@/"))
        .prints(" has not got ")
        .prints(&format!(" trials to go on with it: plimsoll run --resume {id} to hand it on:"))
        .prints(&hand_on)
        .prints(&format!("1 run of {own} not known there: plimsoll push RUN --store"));
    team.plimsoll_at(&own, &["push", &id, "--to", &team.url]).exits(0).says("was copied: ");
    team.plimsoll(&["doctor", "--dry-run"]).exits(0).prints("not handed on none");
    let output = team.plimsoll_at(&own, &["doctor", "--dry-run"]).exits(0);
    assert!(!output.stdout.contains("not handed on"), "{output:?}");
}

#[test]
#[ignore = "needs postgresql"]
fn a_server_that_stands_still_does_not_hold_a_run_up_for_longer_than_is_said() {
    let team = Team::new();
    let experiment = team.lab.file("lasting.toml", &lasting());
    let run = team.begin(&experiment, "3", "--store-wait 1s");
    team.wait_for_trials_beyond(0, &team.url);
    let server = team.server.as_ref().expect("it runs").id();
    let all = |signal: &str| {
        let script = format!("kill -{signal} {server} $(cat /proc/{server}/task/{server}/children)");
        team.lab.script(&script).exits(0);
    };
    all("STOP");
    let output = keeps_the_secret(run.ends());
    all("CONT");
    output.exits(3).says("it has not answered for 1 s").says("is whole in").prints("How fast is it?");
    let (own, id) = (team.own(), team.id(&team.own()));
    // The server notices first that the run is claimed no more.
    wait_until("it is pushed", || team.plimsoll_at(&own, &["push", &id, "--to", &team.url]).code == Some(0));
    assert_eq!(team.trials(&team.url), 3);
}

#[test]
#[ignore = "needs postgresql"]
fn a_killed_run_is_claimed_no_more_and_another_machine_goes_on_with_it() {
    let team = Team::new();
    let experiment = team.lab.file("lasting.toml", &lasting());
    let run = team.begin(&experiment, "3", "");
    team.wait_for_trials_beyond(0, &team.url);
    run.signal(Signal::SIGKILL);
    run.ends();
    wait_until("its claim is gone", || team.plimsoll(&["history"]).stdout.contains(" interrupted "));
    // Another machine has no file of runs of this one.
    fs::remove_dir_all(team.lab.path("state")).expect("it is there");
    let output = team.plimsoll(&["run", "--resume", "--reps", "3"]);
    assert!(matches!(output.code, Some(0 | 4)), "{output:?}");
    assert_eq!(team.trials(&team.url), 3);
}

#[test]
#[ignore = "needs postgresql"]
fn a_server_that_refuses_says_why_and_nothing_says_the_password() {
    let mut team = Team::new();
    let wrong = team.url.replace(PASSWORD, "wrong");
    team.plimsoll_at(&wrong, &["history"]).exits(3).says("password authentication failed for user \"team\"");
    let output = team.lab.plimsoll_in(&["run", "--help"], &[("PLIMSOLL_STORE", &team.url)]).exits(0);
    keeps_the_secret(output);
    let config = team.lab.file("config.toml", &format!("store = \"{}\"\n", team.url));
    let output = team.lab.plimsoll_in(&["run", "--help"], &[("PLIMSOLL_CONFIG", &config)]).exits(0);
    keeps_the_secret(output);
    team.lab.plimsoll_in(&["history"], &[("PLIMSOLL_CONFIG", &config)]).exits(0).says("0 runs");
    for broken in ["postgres://team:open-sesame-7@[x/", "postgres://team:open-sesame-7@x/y?sslmode=verify-ca"]
    {
        team.plimsoll_at(broken, &["history"]).exits(3).says("the store's URL cannot be used");
    }
    team.plimsoll_at(&team.url, &["doctor", "--dry-run"]).exits(0).prints("postgres://team@/postgres?host=");
    team.kill();
}
