//! Models of queues and of lossy paths: fitted to measurements, and asked for predictions.

use serde_json::Value;

use crate::lab::{Lab, verdict_of};

/// A server with a CPU's millisecond for a request, asked at random at rising rates.
pub(crate) const QUEUE: &str = r#"
question = "Which queue is it?"

[hosts.server]

[services.web]
on = "server"
web = { clients = 40, document = "100", work = "2ms" }

[loads.users]
from = "server"
to = "web"
http = { duration = "5s", concurrency = 40, open = { arrivals = "poisson", steps = [20, 60, 100, 140, 180] } }

[[phases]]
name = "loaded"
measure = "users"

[[claims]]
load_curve = { phase = "loaded", host = "server" }

[run]
max_trials = 1
sample_hz = 100
"#;

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("`{name}` in {value}"))
}

#[test]
fn the_load_of_each_step_stands_beside_its_cpu_time_and_the_model_beside_both() {
    let lab = Lab::new();
    let experiment = lab.file("queue.toml", QUEUE);
    lab.plimsoll(&["run", &experiment, "--format", "json"]);
    let report = lab.plimsoll(&["show", "latest", "--format", "json"]).json();
    // A busy machine makes it invalid, a short run undecided; the claim is judged in any case.
    assert_eq!(verdict_of(&report)["claim"], "load_curve");
    let curve = &report["verdicts"][0]["details"];
    let points = curve["points"].as_array().expect("points");
    assert_eq!(points.len(), 5);
    let used: Vec<f64> = points.iter().map(|point| number(point, "utilisation")).collect();
    // A busy machine is never idle, so only these bounds are sure.
    assert!(used.iter().all(|used| (0.01..1.0).contains(used)), "{used:?}");
    assert!(curve["fits"].as_array().is_some_and(|fits| !fits.is_empty()));
    lab.plimsoll(&["show", "latest", "--details"]).prints("Load against CPU, loaded");
    lab.plimsoll(&["show", "latest", "--format", "html"]).prints("id=\"load-curve-1\"");

    let model =
        lab.plimsoll(&["model", "latest", "--cpus", "2", "--jobs", "2000", "--format", "json"]).exits(0);
    let model = model.json();
    assert_eq!(model["schema"], "plimsoll.model/1");
    assert!(number(&model, "service_time") > 0.002, "{model}");
    let checked = model["checked"].as_array().expect("the steps of the run");
    assert_eq!(checked.len(), 5);
    assert!(checked.iter().all(|step| number(&step["measured"], "p50") > 0.002), "{model}");
}

#[test]
fn a_rig_that_nobody_has_is_predicted_by_the_textbooks_formula() {
    let lab = Lab::new();
    let one = ["model", "--service-time", "10ms", "--rate", "80", "--within", "100ms", "--format", "json"];
    let model = lab.plimsoll(&one).exits(0).json();
    let found = &model["predictions"][0];
    assert_eq!(found["by"], "M/M/1");
    assert!((number(&found["response"], "value") - 0.05).abs() < 1e-6, "{model}");
    // p95 of M/M/1 is ln 20 / (μ - λ).
    let capacity = number(&model["capacity"]["rate"], "value");
    assert!((capacity - (100.0 - 20_f64.ln() / 0.1)).abs() < 0.2, "{model}");
    lab.plimsoll(&["model", "--service-time", "10ms", "--users", "5,50", "--think", "1s", "--jobs", "2000"])
        .exits(0)
        .prints("50 users")
        .prints("simulation");
    lab.plimsoll(&["model", "--service-time", "10ms"]).exits(2).says("how much work");
    lab.plimsoll(&["model", "--rate", "5"]).exits(2).says("how long does one job take");
    lab.plimsoll(&["model", "--service-time", "10ms", "--rate", "100"]).exits(2).says("can carry");
}

#[test]
fn reno_follows_the_formula_over_a_lossy_path_and_bbr_is_said_not_to() {
    let lab = Lab::new();
    let run = lab.plimsoll(&[
        "run",
        "loss",
        "--quick",
        "--factor",
        "control=reno,cubic,bbr",
        "--factor",
        "loss=0.003,0.01,0.03",
        "--set",
        "loads.stream.bulk.duration=3s",
        "--format",
        "json",
    ]);
    let report = run.json();
    lab.plimsoll(&["show"]).fits_on_a_screen();
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    let curve = |control: &str| {
        let mut curves = verdicts.iter().map(|verdict| &verdict["details"]);
        curves.find(|curve| curve["cell"]["control"] == control).expect("a curve")
    };
    let rate_at_most_loss = |control: &str| {
        let points = curve(control)["points"].as_array().expect("points");
        assert_eq!(points.len(), 3, "{report}");
        number(&points[2], "bits_per_second")
    };
    // Users may not choose cubic on a machine with another default.
    assert!(rate_at_most_loss("cubic") > 0.0, "{report}");
    // On any machine, reno slows down with the loss, and bbr does not.
    assert!((-1.2..-0.3).contains(&number(curve("reno"), "exponent")), "{report}");
    assert!(rate_at_most_loss("bbr") > 3.0 * rate_at_most_loss("reno"), "{report}");
    let mut of_bbr = verdicts.iter().filter(|verdict| {
        verdict["reason"].as_str().is_some_and(|reason| reason.starts_with("control = bbr: "))
    });
    assert!(of_bbr.all(|verdict| verdict["outcome"] != "estimated"), "{report}");
    lab.plimsoll(&["show", "latest", "--details"]).prints("Rate over loss, stream, control = reno");
}

#[test]
fn a_claim_about_queues_needs_steps_at_random() {
    let lab = Lab::new();
    let constant = lab.file("constant.toml", &QUEUE.replace("arrivals = \"poisson\", ", ""));
    lab.plimsoll(&["check", &constant]).exits(2).says("at least five different `open.steps`");
    let short = lab.file("short.toml", &QUEUE.replace(", 140, 180", ""));
    lab.plimsoll(&["check", &short]).exits(2).says("at least five different `open.steps`");
}

/// A chain of three links, the last of which is too fast to be seen behind the others.
const CHAIN: &str = r#"
question = "How wide is each link?"

[hosts.client]

[hosts.near]
forward = true
sysctls = { "net.ipv4.icmp_ratemask" = 0 }

[hosts.far]
forward = true
sysctls = { "net.ipv4.icmp_ratemask" = 0 }

[hosts.server]
sysctls = { "net.ipv4.icmp_ratemask" = 0 }

[[links]]
between = ["client", "near"]
rate = "10Mbit"
delay = "1ms"

[[links]]
between = ["near", "far"]
rate = "3Mbit"
delay = "8ms"

[[links]]
between = ["far", "server"]
rate = "100Gbit"

[services.end]
on = "server"
bulk = {}

[loads.probes]
from = "client"
to = "end"
hops = { probes = 14, sizes = 8 }

[[phases]]
name = "probed"
measure = "probes"
slices = 2

[[claims]]
hops = { phase = "probed" }

[run]
max_trials = 1
"#;

#[test]
fn the_hops_of_a_chain_are_distinguished_and_one_that_hides_is_not_measurable() {
    let lab = Lab::new();
    let chain = lab.file("chain.toml", CHAIN);
    lab.plimsoll(&["run", &chain, "--format", "json"]);
    let report = lab.plimsoll(&["show", "latest", "--format", "json"]).json();
    assert_eq!(verdict_of(&report)["claim"], "hops");
    let path = &report["verdicts"][0]["details"];
    assert_eq!(path["reached"], true, "{report}");
    let hops = path["hops"].as_array().expect("hops");
    assert_eq!(hops.len(), 3, "{report}");
    // A busy machine widens the intervals, up to none; but it moves no estimate this far.
    for (hop, known) in hops.iter().zip([10e6, 3e6]) {
        let rate = hop["bits_per_second"].as_f64().unwrap_or_else(|| number(hop, "at_least_bits_per_second"));
        assert!((0.6..1.5).contains(&(rate / known)), "{known}: {report}");
    }
    assert_eq!(hops[2]["bits_per_second"], Value::Null, "{report}");
    assert!((6.0..14.0).contains(&number(&hops[1], "latency_ms")), "{report}");
    lab.plimsoll(&["show", "latest", "--details"]).prints("Hops, probed").prints("over ");
    lab.plimsoll(&["show", "latest", "--format", "html"]).prints("id=\"hops-1\"");
    let bulk = lab.file("bulk.toml", &CHAIN.replace("hops = { probes = 14, sizes = 8 }", "udp = {}"));
    lab.plimsoll(&["check", &bulk]).exits(2).says("does not probe a path");
}

/// The example of Mathis et al. 1997 in round numbers: 1460 bytes, 100 ms and a loss of 1 % carry C times 1.168 Mbit/s.
#[test]
fn one_point_of_a_lossy_path_gives_the_rate_of_mathis() {
    let lab = Lab::new();
    let words = ["model", "--rtt", "100ms", "--loss", "1%", "--mss", "1460", "--constant", "1.22"];
    let answer = lab.plimsoll(&[&words[..], &["--format", "json"]].concat()).exits(0).json();
    assert!((number(&answer, "mathis") - 1.22 * 1_168_000.0).abs() < 1.0, "{answer}");
    assert!(number(&answer, "padhye") < number(&answer, "mathis"));
    lab.plimsoll(&words).exits(0).prints("1.425 Mbit/s");
    lab.plimsoll(&["model", "--rtt", "100ms", "--loss", "0"]).exits(2).says("above 0 and below 1");
}
