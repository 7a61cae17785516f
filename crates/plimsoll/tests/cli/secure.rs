//! TLS and HTTP/2 from a file to a report: nginx, HAProxy and the built-in server, with a certificate that is made for the trial.

use std::process::Command;

use crate::lab::Lab;

/// A service behind which nginx answers, and a load for it.
fn experiment(service: &str, http: &str) -> String {
    format!(
        r#"
question = "Does it speak as it should?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.front]
on = "server"
{service}
[services.origin]
on = "server"
nginx = {{ document = "2k" }}
[loads.visitors]
from = "client"
to = "front"
http = {{ connections = 20, concurrency = 4, requests_per_connection = 20, {http} }}
[[phases]]
name = "visits"
measure = "visitors"
slices = 4
[[claims]]
limit = {{ phase = "visits", metric = "error_share", below = "10 %" }}
[[claims]]
limit = {{ phase = "visits", metric = "handshake_p99_ms", below = "10s" }}
[run]
max_trials = 1
"#
    )
}

const HTTP2: &str = "tls = true, version = \"http2\", streams = 10";

fn holds(lab: &Lab, service: &str, http: &str) {
    let file = lab.file("secure.toml", &experiment(service, http));
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits(0).json();
    let visits = &report["trials"][0]["phases"][0];
    assert_eq!(visits["errors"], serde_json::json!({}), "{service} {http}: {visits}");
    assert_eq!(visits["connections"], 20, "{visits}");
    let rate = |of: &str| visits["figures"][of].as_f64().expect("a rate");
    let each = rate("requests_per_second") / rate("connections_per_second");
    assert!((each - 20.0).abs() < 0.01, "requests on a connection: {visits}");
}

#[test]
#[ignore = "needs nginx and haproxy; cargo xtask test installs them"]
fn nginx_and_haproxy_speak_tls_in_both_versions_for_root_and_for_an_ordinary_user() {
    let (root, user) = (Lab::of_root(), Lab::of_ordinary_user());
    let nginx = "nginx = { workers = 2, tls = true, http2 = true }";
    holds(&root, nginx, HTTP2);
    holds(&user, nginx, HTTP2);
    holds(&user, nginx, "tls = true, resume = true");
    let haproxy = "haproxy = { to = \"origin\", tls = true, http2 = true }";
    holds(&root, haproxy, "tls = true");
    holds(&user, haproxy, HTTP2);
    // A proxy of bytes passes TLS on, too.
    let passing = "haproxy = { to = \"inner\", mode = \"tcp\" }\n[services.inner]\non = \"server\"\n\
                   web = { model = \"event_loop\", tls = true, http2 = true }";
    holds(&user, passing, HTTP2);
}

#[test]
#[ignore = "needs nginx; cargo xtask test installs it"]
fn a_configuration_of_its_authors_own_is_given_the_certificate() {
    let lab = Lab::of_ordinary_user();
    let template = "error_log stderr error;\nevents {}\nhttp {\n access_log off;\n client_body_temp_path {{scratch}}/body;\n \
                    proxy_temp_path {{scratch}}/proxy;\n fastcgi_temp_path {{scratch}}/fastcgi;\n uwsgi_temp_path {{scratch}}/uwsgi;\n \
                    scgi_temp_path {{scratch}}/scgi;\n server {\n  listen {{port}} ssl http2;\n  ssl_protocols TLSv1.3;\n  \
                    ssl_certificate {{tls.certificate}};\n  ssl_certificate_key {{tls.key}};\n  return 200 yes;\n }\n}\n";
    lab.file("front.conf.in", template);
    holds(&lab, "nginx = {}\nconfig = \"front.conf.in\"", HTTP2);
}

#[test]
#[ignore = "needs h2spec; cargo xtask test builds it"]
fn h2spec_finds_nothing_wrong_with_the_built_in_server() {
    let lab = Lab::of_ordinary_user();
    // Nobody may not enter the folder where it was built.
    let h2spec = lab.path("h2spec");
    let built = concat!(env!("CARGO_TARGET_TMPDIR"), "/h2spec");
    let copied = Command::new("install").args(["-m", "755", built]).arg(&h2spec).status();
    assert!(copied.expect("install starts").success(), "{built} is not there");
    let load = format!(
        r#"
question = "Does the built-in server speak HTTP/2 as the RFCs have it?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
# More than a window: a reply that was sent at once would end the stream whose window h2spec overflows.
web = {{ model = "event_loop", tls = true, http2 = true, document = "200KB" }}
[loads.h2spec]
from = "client"
to = "web"
exec = ["{}", "--tls", "--insecure", "--timeout", "30", "--host", "{{to.address}}", "--port", "{{to.port}}"]
metrics = {{ passed = {{ regex = "([0-9]+) passed" }} }}
[[phases]]
name = "spec"
measure = "h2spec"
slices = 1
[run]
max_trials = 1
"#,
        h2spec.display()
    );
    let file = lab.file("h2spec.toml", &load);
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits(0).json();
    let spec = &report["trials"][0]["phases"][0];
    assert_eq!(spec["errors"], serde_json::json!({}), "{spec}");
    // Of 145 tests it skips one by itself.
    assert_eq!(spec["figures"]["passed"], 144.0, "{spec}");
}

#[test]
fn what_a_load_and_its_service_speak_has_to_fit() {
    let lab = Lab::new();
    let cases = [
        ("web = {}", "tls = true", "speaks no TLS"),
        ("web = { tls = true }", "path = \"/\"", "speaks TLS only"),
        ("web = { tls = true }", "tls = true, streams = 4", "HTTP/1.1 has no streams"),
        ("web = { tls = true }", "tls = true, version = \"http2\", pipeline = 4", "on streams"),
        ("web = {}", "resume = true", "no TLS session to resume"),
        ("web = { http2 = true, by = \"splice\" }", "version = \"http2\"", "is written"),
        ("web = { tls = true }\nready.http = \"/\"", "tls = true", "asked without TLS"),
        (
            "haproxy = { to = \"origin\", http2 = true }",
            "version = \"http2\"",
            "agreed on in a TLS handshake",
        ),
    ];
    for (service, http, message) in cases {
        let file = lab.file("wrong.toml", &experiment(service, http));
        lab.plimsoll(&["check", &file]).exits(2).says(message);
    }
}
