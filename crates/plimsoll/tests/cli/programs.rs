//! Real programs as services: nginx, HAProxy and Apache httpd, started from a configuration that Plimsoll writes.

use std::fs;

use crate::experiments::one_service;
use crate::lab::{Lab, verdict_of};

/// Leftover files of services in this lab's own folder. Other runs go on meanwhile, in folders of their own.
fn left(lab: &Lab) -> Vec<String> {
    let names = fs::read_dir(lab.folder()).expect("readable").flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.starts_with("plimsoll-service-"))
        .collect()
}

fn serves(lab: &Lab, service: &str) {
    let experiment = lab.file("program.toml", &one_service(service));
    let own = lab.folder().display().to_string();
    let report =
        lab.plimsoll_in(&["run", &experiment, "--format", "json"], &[("TMPDIR", &own)]).exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "recovered");
    let phases = report["trials"][0]["phases"].as_array().expect("phases");
    for phase in phases {
        assert_eq!(phase["connections"], 50, "{phase}");
        assert_eq!(phase["errors"], serde_json::json!({}), "{phase}");
    }
    assert_eq!(left(lab), [] as [String; 0]);
}

const NGINX: &str = "nginx = { workers = 2, document = \"4k\", reuseport = true }\nready.http = \"/\"";
const APACHE: &str = "apache = { workers = 20, keep_alive = false }\nready.http = \"/\"";

#[test]
#[ignore = "needs root and the program; cargo xtask test installs and runs it"]
fn nginx_serves_for_root_and_for_an_ordinary_user() {
    serves(&Lab::of_root(), NGINX);
    serves(&Lab::of_ordinary_user(), NGINX);
}

#[test]
#[ignore = "needs root and the program; cargo xtask test installs and runs it"]
fn apache_serves_for_root_and_for_an_ordinary_user() {
    serves(&Lab::of_root(), APACHE);
    serves(&Lab::of_ordinary_user(), APACHE);
}

#[test]
#[ignore = "needs root and the program; cargo xtask test installs and runs it"]
fn nginx_serves_on_loopback_where_namespaces_are_forbidden() {
    serves(&Lab::of_ordinary_user().without_user_namespaces().allowing("local"), NGINX);
}

#[test]
#[ignore = "needs root and the program; cargo xtask test installs and runs it"]
fn haproxy_passes_requests_on_in_both_modes() {
    for (lab, mode) in [(Lab::of_root(), "http"), (Lab::of_ordinary_user(), "tcp")] {
        let service = format!(
            "haproxy = {{ to = \"origin\", mode = \"{mode}\" }}\nready.http = \"/\"\n\n[services.origin]\non = \"server\"\nnginx = {{}}"
        );
        serves(&lab, &service);
    }
}

/// Mail from a client through HAProxy to a sink, on one host each.
fn mail_through_haproxy(mode: &str) -> String {
    format!(
        "question = \"Does all mail come through?\"\n[hosts.source]\n[hosts.proxy]\n[hosts.sink]\n\
         [[links]]\nbetween = [\"source\", \"proxy\"]\n[[links]]\nbetween = [\"proxy\", \"sink\"]\n\
         [services.sink]\non = \"sink\"\nsmtp_sink = {{}}\n\
         [services.proxy]\non = \"proxy\"\nhaproxy = {{ to = \"sink\", mode = \"{mode}\" }}\n\
         [loads.mail]\nfrom = \"source\"\nto = \"proxy\"\nsmtp = {{ messages = 50, sessions = 2 }}\n\
         [[phases]]\nname = \"mail\"\nmeasure = \"mail\"\n\
         [[claims]]\ndelivery = {{ sink = \"sink\" }}\n"
    )
}

#[test]
#[ignore = "needs haproxy; cargo xtask test installs and runs it"]
fn mail_goes_through_haproxy_that_passes_bytes_on() {
    let lab = Lab::new();
    let mail = lab.file("mail.toml", &mail_through_haproxy("tcp"));
    let report = lab.plimsoll(&["run", &mail, "--format", "json"]).exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "delivered", "{report}");
}

#[test]
fn a_proxy_that_reads_requests_takes_no_mail() {
    let lab = Lab::new();
    let mail = lab.file("mail.toml", &mail_through_haproxy("http"));
    lab.plimsoll(&["check", &mail]).exits(2).says("the service `proxy` takes no mail");
}

#[test]
fn a_program_that_is_not_installed_is_named_with_its_package() {
    let lab = Lab::new();
    let experiment = lab.file("none.toml", &one_service("nginx = {}"));
    // Daemons are looked for in /usr/sbin, too, so the machine's must be hidden.
    let script = format!(
        "exec unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /usr/sbin && exec $PLIMSOLL run {experiment}'"
    );
    lab.script(&script).exits(3).says("there is no program `nginx`").says("apt-get install nginx-light");
}

#[test]
#[ignore = "needs the programs; cargo xtask test installs and runs it"]
fn the_experiments_with_real_programs_come_to_an_answer() {
    let lab = Lab::new();
    let run = |name: &str, settings: &[&str]| {
        let args = [&["run", name, "--quick", "--format", "json"], settings].concat();
        let report = lab.plimsoll(&args).exits_as_it_judges().json();
        lab.plimsoll(&["show"]).fits_on_a_screen();
        report
    };
    // Other work on the machine changes the certainty of a verdict, but not the place of the figures. A machine whose hypervisor takes the CPUs
    // away brings no figures.
    let taken_away = |verdict: &serde_json::Value| {
        verdict["reason"].as_str().is_some_and(|reason| reason.contains("the hypervisor took"))
    };
    let lies = |verdict: &serde_json::Value, within: std::ops::Range<f64>| {
        if taken_away(verdict) {
            assert_eq!(verdict["outcome"], "invalid", "{verdict}");
            return;
        }
        assert_ne!(verdict["outcome"], "invalid", "{verdict}");
        assert!(verdict["estimate"].as_f64().is_some_and(|ratio| within.contains(&ratio)), "{verdict}");
    };
    let nginx = run("web/nginx", &["--set", "loads.visitors.http.duration=150ms"]);
    lies(verdict_of(&nginx), 1.2..f64::INFINITY);
    // A run of two trials has no comparison of the machine with itself, which a busy machine fails.
    let chain = run("web/haproxy-chain", &["--set", "loads.visitors.http.duration=150ms", "--reps", "6"]);
    let verdicts = chain["verdicts"].as_array().expect("verdicts");
    assert_eq!(verdicts.len(), 2, "{verdicts:?}");
    for verdict in verdicts {
        lies(verdict, 0.0..0.95);
    }
    let prefork = run(
        "web/apache-prefork",
        &["--set", "loads.flood.http.connections=500", "--set", "run.max_trials=1"],
    );
    lies(verdict_of(&prefork), 0.5..f64::INFINITY);
}
