//! Programs as their authors configure them: a configuration file as a template beside the experiment.

use nix::sys::signal::Signal;

use crate::lab::{Lab, wait_until};

const CONFIGURED: &str = r#"
question = "Does it do as its author says?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
web = {}
[services.front]
on = "server"
nginx = {}
to = "web"
config = "front.conf.in"
values = { status = 200 }
ready = { http = "/ready" }
[loads.some]
from = "client"
to = "front"
http = { connections = 2000, path = "/answer" }
[[phases]]
name = "all"
measure = "some"
slices = 10
[[claims]]
limit = { metric = "error_share", below = "1 %" }
[run]
max_trials = 1
"#;

const TEMPLATE: &str = r"
worker_processes 1;
error_log stderr error;
events { worker_connections 100; }
http {
    access_log off;
    client_body_temp_path {{scratch}}/body;
    proxy_temp_path {{scratch}}/proxy;
    fastcgi_temp_path {{scratch}}/fastcgi;
    uwsgi_temp_path {{scratch}}/uwsgi;
    scgi_temp_path {{scratch}}/scgi;
    server {
        listen {{address}}:{{port}};
        location /answer { return {{values.status}}; }
        location /ready { proxy_pass http://{{to}}/; }
    }
}
";

#[test]
fn what_a_configuration_includes_is_listed_by_check_or_named_as_not_followed() {
    let lab = Lab::of_ordinary_user();
    let types = lab.file("types.conf", "include more.conf;\n");
    lab.file("front.conf.in", &TEMPLATE.replace("access_log off;", &format!("include {types};")));
    let experiment = lab.file("includes.toml", CONFIGURED);
    lab.plimsoll(&["check", &experiment])
        .exits(0)
        .prints(&format!("{types}, which the configuration includes (services.front.config on server)"))
        .prints("files that `more.conf` in the configuration includes, which are not followed");
}

#[test]
#[ignore = "needs nginx"]
fn a_configuration_of_its_authors_own_is_filled_in_and_any_directive_is_a_factor() {
    let lab = Lab::of_ordinary_user();
    lab.file("front.conf.in", TEMPLATE);
    let file = lab.file("configured.toml", CONFIGURED);
    lab.plimsoll(&["run", &file]).exits(0);
    // The path counts from the file, and not from where the program is started; a value is a setting like any other.
    let refused =
        lab.script(&format!("cd / && \"$PLIMSOLL\" run {file} --set services.front.values.status=503"));
    refused.exits(4).prints("the answer was HTTP status 503");
}

#[test]
#[ignore = "needs nginx"]
fn a_resumed_run_goes_on_with_the_configuration_that_it_began_with() {
    let lab = Lab::new();
    lab.file("front.conf.in", TEMPLATE);
    let trials = CONFIGURED.replace("max_trials = 1", "min_trials = 3\nmax_trials = 3");
    let file = lab.file("configured.toml", &trials);
    let run = lab.start(&["run", &file]);
    let measured = |report: &serde_json::Value| report["trials"].as_array().map_or(0, Vec::len);
    wait_until("a trial is stored", || lab.stored().is_some_and(|report| measured(&report) > 0));
    run.signal(Signal::SIGTERM);
    run.ends().exits(130);
    lab.file("front.conf.in", "this is no configuration of nginx");
    let report = lab.plimsoll(&["run", "--resume", "--format", "json"]).exits(0).json();
    assert_eq!(measured(&report), 3, "{report}");
    // A run that begins now takes the file as it is.
    lab.plimsoll(&["run", &file]).exits(3);
}

#[test]
fn a_template_that_names_what_is_not_known_is_refused_with_its_line() {
    let lab = Lab::new();
    let file = lab.file("configured.toml", CONFIGURED);
    lab.plimsoll(&["check", &file]).exits(2).says("front.conf.in").says("No such file");
    lab.file("front.conf.in", &TEMPLATE.replace("{{values.status}}", "{{values.stats}}"));
    lab.plimsoll(&["check", &file]).exits(2).says("line 14").says("values.stats");
    let builtin = CONFIGURED.replace("nginx = {}\nto = \"web\"", "web = {}");
    let file = lab.file("builtin.toml", &builtin);
    lab.plimsoll(&["check", &file]).exits(2).says("has no configuration file");
}

#[test]
fn a_program_of_your_own_finds_its_configuration_at_the_given_path() {
    let lab = Lab::of_ordinary_user();
    lab.file("own.cfg", "greeting = {{values.greeting}} at {{port}}\n");
    let own = r#"
question = "Does it find its configuration?"
[hosts.server]
[services.own]
on = "server"
exec = ["sh", "-c", "cat {config} >&2; exit 7"]
config = "own.cfg"
values = { greeting = "hello" }
port = 4711
[loads.some]
from = "server"
to = "own"
http = { connections = 1 }
[[phases]]
name = "all"
measure = "some"
"#;
    let file = lab.file("own.toml", own);
    lab.plimsoll(&["run", &file]).exits(3).says("greeting = hello at 4711");
}
