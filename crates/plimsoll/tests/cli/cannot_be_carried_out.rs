//! Failed runs: exit status 3, and a message for each cause.

use std::fs;
use std::net::TcpListener;

use crate::experiments::{FLOOD, one_service};
use crate::lab::{Lab, Printed};

#[test]
fn a_port_that_another_service_of_the_host_has_is_named() {
    let two = "web = {}\nport = 8080\n\n[services.other]\non = \"server\"\nport = 8080\n";
    for other in ["web = {}", "exec = [\"python3\", \"-m\", \"http.server\", \"{port}\"]"] {
        refused(&format!("{two}{other}"))
            .says("0.0.0.0:8080 is in use by another program")
            .says(".port=PORT, or none for a free one");
    }
}

#[test]
fn a_port_that_another_program_of_the_machine_has_is_named_on_a_local_host() {
    let taken = TcpListener::bind("0.0.0.0:0").expect("there is a free port");
    let port = taken.local_addr().expect("it is bound").port();
    let text = one_service(&format!("web = {{}}\nport = {port}"));
    let text = text.replace("[hosts.server]", "[hosts.server]\nkind = \"local\"");
    refused_file(&Lab::new(), &text)
        .says("the service `web` on `server`: 127.")
        .says(&format!(":{port} is in use by another program"))
        .says("--set services.web.port=PORT");
}

#[test]
fn a_service_that_never_gets_ready_is_named_with_what_was_tried() {
    refused("exec = [\"sleep\", \"60\"]\nready.within = \"500ms\"\nport = 8080")
        .says("the service `web` on `server`: not ready after ")
        .says("8080: Connection refused")
        .says("try: more time: --set services.web.ready.within=");
}

#[test]
fn a_service_that_answers_otherwise_than_expected_is_quoted() {
    refused("web = {}\nready = { http = \"/nothing-here\", within = \"500ms\" }")
        .says("GET /nothing-here was answered with `HTTP/1.1 404 Not Found`");
}

#[test]
fn a_service_that_ends_at_once_is_quoted() {
    refused("exec = [\"sh\", \"-c\", \"echo my configuration is missing >&2; exit 7\"]")
        .says("the service `web` on `server`: ended before it was ready: exit status 7")
        .says("my configuration is missing");
}

#[test]
fn a_program_that_is_not_installed_is_named_with_its_package() {
    refused("exec = [\"/nowhere/nginx\", \"-g\", \"daemon off;\"]")
        .says("there is no program `/nowhere/nginx`; it comes with the Debian package `nginx-light`")
        .says("try: apt-get install nginx-light");
    refused("exec = [\"no-such-program\"]").says("there is no program `no-such-program`");
}

#[test]
fn a_full_disk_is_reported_and_what_was_stored_before_is_whole() {
    let lab = Lab::of_ordinary_user().with_small_disk(1000);
    lab.file("small.toml", FLOOD);
    for page in ["--html page.html", ""] {
        let script = format!(
            "\"$PLIMSOLL\" run small.toml --store small/runs.sqlite {page} --reps 50 --format json >report.json
             code=$?
             \"$PLIMSOLL\" show latest --store small/runs.sqlite --format json
             exit $code"
        );
        let output = lab.script(&script).exits(3);
        let output = output.says("the disk is full: cannot store the").says("small/runs.sqlite");
        let output =
            output.says("what was stored before is whole").says("try: another place with --store FILE");
        let shown = output.json();
        assert_eq!(shown["trials"][0]["phases"][0]["name"], "baseline", "{shown}");
    }
}

#[test]
fn a_store_that_disappears_is_reported_and_what_was_measured_is_printed_all_the_same() {
    let lab = Lab::new();
    let file = lab.file("small.toml", FLOOD);
    let run = lab.start(&["run", &file, "--reps", "5"]);
    lab.wait_for_the_flood();
    fs::remove_file(lab.path("state/plimsoll/runs.sqlite")).expect("it is there");
    let output = run.ends().exits(3).says("runs.sqlite is gone: it was removed or renamed");
    output.prints("The run could not go on").prints("baseline").fits_on_a_screen();
}

#[test]
fn a_run_that_failed_says_why_wherever_it_is_shown_with_one_exit_status() {
    let lab = Lab::new();
    let leaves = "exec = [\"sh\", \"-c\", \"echo no licence >&2; exit 7\"]";
    let file = lab.file("refused.toml", &one_service(leaves));
    let why = "ended before it was ready: exit status 7";
    lab.plimsoll(&["run", &file]).exits(3).says(why);
    lab.plimsoll(&["show"]).exits(3).prints(why).fits_on_a_screen();
    for format in ["json", "html", "junit", "markdown"] {
        lab.plimsoll(&["show", "--format", format]).exits(3).prints(why);
        lab.plimsoll(&["gate", "--format", format]).exits(3).prints(why);
    }
    lab.plimsoll(&["history"])
        .exits(0)
        .prints(&format!("failed refused: the service `web` on `server`: {why}"));
    let listed = lab.plimsoll(&["history", "--format", "json"]).json();
    assert!(listed[0]["failure"].as_str().is_some_and(|text| text.contains(why)), "{listed}");
}

#[test]
fn a_service_on_another_port_is_reported_with_the_port_before_the_time_is_over() {
    refused("exec = [\"python3\", \"-m\", \"http.server\", \"9090\"]\nport = 8080\nready.within = \"20s\"")
        .says("nothing listens on port 8080; it listens on 0.0.0.0:9090")
        .says("try: --set services.web.port=9090");
}

#[test]
fn more_rights_are_proposed_where_a_program_was_refused_something_and_nowhere_else() {
    let advised = |script: &str| {
        let service = format!("exec = [\"sh\", \"-c\", \"{script}\"]");
        refused(&service).stderr.contains("privileged=true")
    };
    assert!(advised("echo x >/etc/hostname"));
    assert!(!advised("sh --no-such-flag"));
    let lab = Lab::new();
    let script = lab.path("serve");
    fs::write(&script, "#!/bin/sh\n").expect("allowed");
    refused(&format!("exec = [\"{}\"]", script.display())).says("`chmod +x ");
}

#[test]
fn a_store_that_may_not_be_written_to_is_reported_before_anything_runs() {
    let lab = Lab::of_ordinary_user();
    let file = lab.file("small.toml", FLOOD);
    let refused = |store: &str| {
        let output = lab.plimsoll(&["run", &file, "--store", store]).exits(3).prints_nothing();
        output.says("try: another place with --store FILE")
    };
    refused("/sys/kernel/runs.sqlite").says("cannot keep runs in /sys/kernel/runs.sqlite: Permission denied");
    refused("/sys/kernel/plimsoll/runs.sqlite").says("cannot make the folder /sys/kernel/plimsoll:");
    refused("..").says("cannot keep runs in ..: Is a directory");
}

/// The setting is written with the value that it has.
#[test]
fn a_kernel_setting_of_the_whole_machine_is_not_for_an_ordinary_user() {
    let lab = Lab::of_ordinary_user().allowing("machine");
    let now = fs::read_to_string("/proc/sys/vm/swappiness").expect("every kernel has it");
    let sysctl = format!("[hosts.server]\nsysctls = {{ \"vm.swappiness\" = {} }}", now.trim());
    let text = one_service("web = {}").replace("[hosts.server]", &sysctl);
    refused_file(&lab, &text)
        .says("setting vm.swappiness")
        .says("only root of the machine can change its settings");
    assert_eq!(fs::read_to_string("/proc/sys/vm/swappiness").expect("every kernel has it"), now);
}

fn refused(service: &str) -> Printed {
    refused_file(&Lab::new(), &one_service(service))
}

/// Runs a refused file: without measurements, stdout stays empty.
fn refused_file(lab: &Lab, text: &str) -> Printed {
    let file = lab.file("refused.toml", text);
    lab.plimsoll(&["run", &file]).exits(3).prints_nothing()
}
