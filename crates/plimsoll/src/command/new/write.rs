//! The text of a new experiment. A comment marks each assumed value.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use toml::Value;

use super::Answers;
use super::subject::{Subject, is_here};
use crate::args::NewKind;

/// Columns of a comment.
const WIDTH: usize = 100;

/// The experiment that the answers ask for.
pub(super) fn experiment(answers: &Answers) -> String {
    let mut text = Text::default();
    text.comment("Written by `plimsoll new`. `plimsoll check` tests this file, and `plimsoll run` measures.");
    answers.assumed.iter().for_each(|assumed| text.comment(&format!("Assumed: {assumed}")));
    text.line(&format!("question = {}", quoted(&question(answers))));
    text.blank();
    match answers.subjects.as_slice() {
        subjects @ [Subject::Running { .. }, ..] => running(&mut text, subjects),
        [Subject::Server { words, port }, ..] => server(&mut text, words, *port),
        [Subject::Command { .. }, ..] => text.line("[hosts.machine]"),
        [] => {}
    }
    if let [Subject::Command { words }, ..] = answers.subjects.as_slice() {
        of_command(&mut text, answers, words);
    } else {
        of_server(&mut text, answers);
    }
    text.0
}

/// The question in one sentence.
pub(super) fn question(answers: &Answers) -> String {
    let name = answers.subjects.first().map(named).unwrap_or_default();
    let good = &answers.good.0;
    match answers.kind {
        NewKind::Compare => {
            let other = answers.subjects.get(1).map(named).unwrap_or_default();
            format!("Which is faster, {name} or {other}?")
        }
        NewKind::Recovery => format!("Does {name} recover from a flood?"),
        NewKind::Capacity if is_command(answers) => format!("How many copies of {name} can run at once?"),
        NewKind::Capacity => format!("How many requests per second does {name} answer within {good}?"),
        NewKind::Promise if is_command(answers) => format!("Does {name} take less than {good}?"),
        NewKind::Promise => format!("Does {name} answer nine requests in ten within {good}?"),
    }
}

fn is_command(answers: &Answers) -> bool {
    matches!(answers.subjects.first(), Some(Subject::Command { .. }))
}

fn named(subject: &Subject) -> String {
    match subject {
        Subject::Running { at, port, tls, path, .. } => {
            format!("http{}://{}{path}", if *tls { "s" } else { "" }, SocketAddr::new(*at, *port))
        }
        Subject::Server { words, .. } | Subject::Command { words } => words.join(" "),
    }
}

/// Hosts and services of servers that run already.
fn running(text: &mut Text, subjects: &[Subject]) {
    text.comment("The client is this machine: the load starts here.");
    text.line("[hosts.client]");
    text.line(&this_machine());
    text.comment(
        "Plimsoll refuses to work as root on a machine that it did not make, except with this line.",
    );
    text.line("allow = [\"root\"]");
    if let Some(Subject::Running { at, .. }) = subjects.first().filter(|subject| is_local(subject)) {
        text.line(&format!("address = {}", quoted(&at.to_string())));
    }
    let mut hosts: Vec<IpAddr> = Vec::new();
    for subject in subjects {
        if let Subject::Running { at, .. } = subject
            && !hosts.contains(at)
        {
            hosts.push(*at);
        }
    }
    for (place, at) in hosts.iter().enumerate() {
        text.blank();
        let here = is_here(*at);
        text.comment(if here {
            "The server's machine: this one."
        } else {
            "Assumed: you can log in on the server's machine by ssh without a password. The name may be one of your ssh configuration. Plimsoll copies its agent there."
        });
        text.line(&format!("[hosts.{}]", host(place)));
        text.line(&if here {
            this_machine()
        } else {
            format!("reach = {{ ssh = {} }}", quoted(&at.to_string()))
        });
        text.line(&format!("address = {}", quoted(&at.to_string())));
        text.line("allow = [\"root\"]");
    }
    let services =
        subjects.iter().enumerate().filter(|(place, subject)| is_new_service(subjects, *place, subject));
    for (place, subject) in services {
        let Subject::Running { at, port, remarks, .. } = subject else { continue };
        text.blank();
        remarks.iter().for_each(|remark| text.comment(remark));
        text.comment(
            "A server that runs already: start it before the run. Plimsoll neither starts nor stops it.",
        );
        text.line(&format!("[services.{}]", service(place)));
        let on = hosts.iter().position(|host| host == at).unwrap_or_default();
        text.line(&format!("on = {}", quoted(&host(on))));
        text.line(&format!("port = {port}"));
        text.line("running = {}");
    }
}

/// Two addresses that differ in the path alone are one service.
fn is_new_service(subjects: &[Subject], place: usize, subject: &Subject) -> bool {
    place == 0 || !same_server(&subjects[0], subject)
}

fn same_server(a: &Subject, b: &Subject) -> bool {
    match (a, b) {
        (Subject::Running { at, port, .. }, Subject::Running { at: at_b, port: port_b, .. }) => {
            at == at_b && port == port_b
        }
        _ => false,
    }
}

fn is_local(subject: &Subject) -> bool {
    matches!(subject, Subject::Running { at, .. } if is_here(*at))
}

fn host(place: usize) -> String {
    if place == 0 { "server".to_owned() } else { format!("server{}", place + 1) }
}

fn service(place: usize) -> &'static str {
    if place == 0 { "mine" } else { "other" }
}

/// The way to this machine: the program by its name, or by its path where the search path does not have it.
fn this_machine() -> String {
    let own = std::env::current_exe().ok();
    let found = plimsoll_agent::find_program("plimsoll").and_then(|path| path.canonicalize().ok());
    let is_found = own.as_ref().and_then(|path| path.canonicalize().ok()) == found;
    let program = own.filter(|_| !is_found).unwrap_or_else(|| PathBuf::from("plimsoll"));
    format!("reach = {{ command = [{}, \"agent\"] }}", quoted(&program.display().to_string()))
}

/// Hosts, link and service of a program that Plimsoll starts.
fn server(text: &mut Text, words: &[String], port: Option<u16>) {
    text.comment("Two hosts that exist for the run, each with a network of its own.");
    text.line("[hosts.client]");
    text.line("[hosts.server]");
    text.line("[[links]]");
    text.line("between = [\"client\", \"server\"]");
    text.part("The program. It runs as nobody and sees the machine's files read-only; {scratch} is a folder that it may write to. {address} and {port} stand for where it must listen: 0.0.0.0 is right, 127.0.0.1 is not reached from the client.");
    text.line("[services.mine]");
    text.line("on = \"server\"");
    text.line(&format!("exec = {}", list(words)));
    match port {
        Some(port) => text.line(&format!("port = {port}")),
        None => text.comment("Assumed: any port will do. `port = 8080` fixes one."),
    }
    text.comment("Assumed: it is ready when it takes connections. `ready = { http = \"/health\" }` waits for an answer with status 200.");
}

/// Loads, phases and claims for a server that speaks HTTP.
fn of_server(text: &mut Text, answers: &Answers) {
    let good = quoted(&answers.good.0);
    let (path, tls) = match answers.subjects.first() {
        Some(Subject::Running { path, tls: true, .. }) => (path.as_str(), ", tls = true"),
        Some(Subject::Running { path, .. }) => (path.as_str(), ""),
        _ => ("/", ""),
    };
    let asked = format!("path = {}{tls}", quoted(path));
    text.blank();
    if !tls.is_empty() {
        text.comment("The server's certificate is its own: loads check that the server has its key, and not who signed it.");
    }
    text.comment("Assumed: it speaks HTTP. For another protocol, `exec` runs a load generator of your own: docs/how-to/loads.md.");
    match answers.kind {
        NewKind::Capacity => {
            text.comment("Assumed: clients come at random and keep their connections. `rate` is the lowest rate that is tried.");
            load(
                text,
                "clients",
                &format!(
                    "http = {{ {asked}, duration = \"2s\", timeout = \"2s\", concurrency = 1000, requests_per_connection = 0, open = {{ rate = 20, arrivals = \"poisson\" }} }}"
                ),
            );
            text.part("Assumed: it carries less than 20000 requests per second.");
            text.line("[[phases]]\nname = \"search\"\nsearch = { load = \"clients\", to = 20000 }");
            text.part("The result: the highest rate at which 95 % of the requests keep this bound.");
            text.line(&format!(
                "[[claims]]\nlimit = {{ phase = \"search\", at_most = {good}, share = \"95 %\" }}"
            ));
            text.blank();
            text.line("[run]\nmin_trials = 2\nmax_trials = 3");
        }
        NewKind::Recovery => {
            text.comment("Assumed: the usual traffic is one client that repeats its request. Raise `concurrency` to your traffic.");
            load(text, "usual", &format!("http = {{ {asked}, connections = 400 }}"));
            text.part(
                "Assumed: a flood is 200 clients at once. Make it as hard as the flood that you expect.",
            );
            load(text, "flood", &format!("http = {{ {asked}, connections = 5000, concurrency = 200 }}"));
            recovery(text, answers.subjects.first(), "usual", "flood", &good);
        }
        NewKind::Compare => {
            text.comment("Assumed: four clients at once, each with a new connection per request.");
            load(text, "clients", &format!("http = {{ {asked}, duration = \"1s\", concurrency = 4 }}"));
            text.line("\n[[phases]]\nname = \"work\"\nmeasure = \"clients\"\nslices = 5");
            compared(text, answers);
            difference(text, &good);
        }
        NewKind::Promise => {
            text.comment("Assumed: four clients at once, each with a new connection per request.");
            load(text, "clients", &format!("http = {{ {asked}, duration = \"5s\", concurrency = 4 }}"));
            text.line("\n[[phases]]\nname = \"work\"\nmeasure = \"clients\"\nslices = 10");
            text.part(
                "The promise: nine in ten keep this bound. Others: `p99_ms`, `median_ms`, `requests_per_second` with `above`.",
            );
            text.line(&format!("[[claims]]\nlimit = {{ metric = \"p90_ms\", below = {good} }}"));
        }
    }
}

/// The factor of the comparison.
fn compared(text: &mut Text, answers: &Answers) {
    let [a, b, ..] = answers.subjects.as_slice() else { return };
    let (set, a, b) = match (a, b) {
        (Subject::Running { path, .. }, Subject::Running { path: other, .. }) if same_server(a, b) => {
            ("loads.clients.http.path", quoted(path), quoted(other))
        }
        (Subject::Server { words, .. }, Subject::Server { words: other, .. }) => {
            ("services.mine.exec", list(words), list(other))
        }
        (Subject::Command { words }, Subject::Command { words: other }) => {
            ("loads.work.exec.command", list(words), list(other))
        }
        _ => ("loads.clients.to", quoted(service(0)), quoted(service(1))),
    };
    text.part("The two sides, in random order. The second is compared with the first.");
    text.line(&format!("[factors.side]\nset = {}\nlevels = [{a}, {b}]", quoted(set)));
}

/// Load, phases and claims for a command that ends.
fn of_command(text: &mut Text, answers: &Answers, words: &[String]) {
    let good = quoted(&answers.good.0);
    if answers.kind == NewKind::Capacity {
        text.comment("The number of copies that run at once.");
        text.line("count = 1");
    }
    text.part("The command. It runs as nobody and sees the machine's files read-only; {scratch} is a folder that it may write to.");
    text.line("[loads.work]\nfrom = \"machine\"");
    text.line(&format!("exec = {{ command = {} }}", list(words)));
    let measure = "[[phases]]\nname = \"work\"\nmeasure = \"work\"\nslices = 10";
    match answers.kind {
        NewKind::Compare => {
            text.part("Assumed: ten runs in each trial.");
            text.line(measure);
            compared(text, answers);
            difference(text, &good);
        }
        NewKind::Recovery => {
            text.part("Assumed: the disturbance is a crowd of processes that exchange messages. Replace it by the one that you expect: any load, or `exec = [\"./disturb\"]`.");
            text.line("[loads.flood]\nfrom = \"machine\"\nmessaging = { rounds = 3 }");
            recovery(text, answers.subjects.first(), "work", "flood", &good);
        }
        NewKind::Capacity => {
            text.part("Assumed: ten runs of each copy in each trial.");
            text.line(measure);
            text.part("Assumed: no more than eight copies. The rate is that of all copies together.");
            text.line("[factors.copies]\nset = \"hosts.machine.count\"\nlevels = [1, 2, 4, 8]");
            text.part("The result: which numbers of copies do more, together, than one.");
            text.line("[[claims]]\ndifference = { factor = \"copies\", phase = \"work\", metric = \"requests_per_second\", margin = \"5 %\", expect = \"any\" }");
        }
        NewKind::Promise => {
            text.part("Assumed: ten runs in each trial.");
            text.line(measure);
            text.part(
                "The promise: half of the runs keep this bound. `p90_ms` for nine in ten needs 93 runs.",
            );
            text.line(&format!("[[claims]]\nlimit = {{ metric = \"median_ms\", below = {good} }}"));
        }
    }
}

fn load(text: &mut Text, name: &str, kind: &str) {
    text.line(&format!("[loads.{name}]\nfrom = \"client\"\nto = \"mine\"\n{kind}"));
}

/// Phases, control and claim of a recovery. Only a server that Plimsoll starts has a host that can drain, a control and remedies.
fn recovery(text: &mut Text, subject: Option<&Subject>, usual: &str, flood: &str, margin: &str) {
    let is_started = matches!(subject, Some(Subject::Server { .. }));
    let measured = "warm_up = 1\nslices = 40\nmost_slices = 400\nextend_for = \"20s\"";
    text.part(
        "Before, flood, after. `slices` is how often the usual load runs in each phase; up to `most_slices` are added while the rate scatters too much.",
    );
    text.line(&format!("[[phases]]\nname = \"baseline\"\nmeasure = \"{usual}\"\n{measured}\n"));
    text.line(&format!("[[phases]]\nname = \"flood\"\ndrive = \"{flood}\"\n"));
    if is_started {
        text.comment("Until the flood's connections are gone.");
        text.line("[[phases]]\nname = \"settle\"\nsettle = { at_least = \"1s\", drained = \"server\" }\nat_most = \"2m\"\n");
    }
    text.line(&format!("[[phases]]\nname = \"after\"\nmeasure = \"{usual}\"\n{measured}"));
    if is_started {
        text.part("An unflooded second rig separates drift of the machine from the effect.");
        text.line("[control]\nidle_in = [\"flood\"]");
        text.part("Remedies to try if it does not recover: the one that helps shows what keeps it slow.");
        text.line("[remedies]\nservice = \"mine\"\nladder = [\"wait_longer\", \"restart_service\", \"rebuild_host\"]");
    }
    text.part("It has recovered if the rate is back to within this margin.");
    text.line(&format!(
        "[[claims]]\nrecovery = {{ baseline = \"baseline\", after = \"after\", margin = {margin} }}"
    ));
    text.part("Trials are added until the claim is decided.");
    text.line("[run]\nmax_trials = 5");
}

fn difference(text: &mut Text, margin: &str) {
    text.part("A smaller difference than `margin` counts as none. `expect = \"not_slower\"` makes a gate for CI of it.");
    text.line(&format!("[[claims]]\ndifference = {{ factor = \"side\", phase = \"work\", margin = {margin}, expect = \"any\" }}"));
}

pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn list(words: &[String]) -> String {
    Value::from(words.to_vec()).to_string()
}

/// Lines of the file.
#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    pub(super) fn into_string(self) -> String {
        self.0
    }

    pub(super) fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    pub(super) fn blank(&mut self) {
        self.0.push('\n');
    }

    /// A comment that begins a part of the file.
    pub(super) fn part(&mut self, comment: &str) {
        self.blank();
        self.comment(comment);
    }

    /// A comment, broken between words. A control character would end it.
    pub(super) fn comment(&mut self, comment: &str) {
        let mut line = "#".to_owned();
        for word in
            comment.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
        {
            if line.chars().count() + 1 + word.chars().count() > WIDTH && line.len() > 1 {
                self.line(&line);
                "#".clone_into(&mut line);
            }
            line.push(' ');
            line.push_str(word);
        }
        self.line(&line);
    }
}
