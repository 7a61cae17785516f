//! Two things that vary together: whether only the combination is slow.

use crate::lab::{Lab, verdict_of};

#[test]
fn few_ports_and_a_server_that_closes_first_are_slow_only_together() {
    let lab = Lab::new();
    let output = lab.plimsoll_until_decided(&[
        "run",
        "port-reuse-matrix",
        "--quick",
        "--set",
        "loads.visitors.http.duration=500ms",
        "--format",
        "json",
    ]);
    let report = output.exits(0).json();
    lab.plimsoll(&["show"]).fits_on_a_screen();
    let verdict = verdict_of(&report);
    assert_eq!(verdict["outcome"], "interaction", "{verdict}");
    let reason = verdict["reason"].as_str().expect("a reason");
    assert!(reason.contains("the contrast is"), "{reason}");
    assert_eq!(report["causes"][0]["id"], "net.time_wait_reuse", "{}", report["causes"]);
    let evidence = report["evidence"].as_array().expect("evidence");
    for (host, counter) in [("client", "TCPSynRetrans"), ("server", "PAWSTimewait")] {
        let is_it = |e: &&serde_json::Value| {
            e["host"] == host && e["metric"].as_str().is_some_and(|metric| metric.contains(counter))
        };
        let found = evidence.iter().find(is_it).unwrap_or_else(|| panic!("{counter} is not in {evidence:?}"));
        assert!(found["after"].as_f64() > found["before"].as_f64(), "{found}");
    }
}

#[test]
fn a_longer_path_and_more_clients_are_said_to_act_independently() {
    let lab = Lab::new();
    let output = lab.plimsoll_until_decided(&[
        "run",
        "additive-matrix",
        "--quick",
        // The link's delay is large against the noise of a busy machine.
        "--factor",
        "path=20ms,40ms",
        "--set",
        "loads.visitors.http.duration=600ms",
        "--set",
        "claims.0.interaction.margin=60 %",
        "--reps",
        "6",
        "--format",
        "json",
    ]);
    let report = output.exits(0).json();
    lab.plimsoll(&["show"]).fits_on_a_screen();
    let verdict = verdict_of(&report);
    assert_eq!(
        (&verdict["claim"], &verdict["outcome"]),
        (&"interaction".into(), &"additive".into()),
        "{verdict}"
    );
    assert!(verdict["estimate"].as_f64().is_some_and(|ratio| (0.6..1.67).contains(&ratio)), "{verdict}");
}
