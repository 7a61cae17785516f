//! Actions during a measurement: `during` beside `measure`. Each step is a moment in the report, and the recovery after
//! each is judged.

use serde_json::Value;

use crate::lab::Lab;

const TWO_HOSTS: &str = r#"
question = "What do the steps do to the load?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.web]
on = "server"
web = { model = "event_loop" }
[loads.visitors]
from = "client"
to = "web"
http = { duration = "8s", concurrency = 4, timeout = "500ms" }
[run]
max_trials = 1
"#;

fn event<'r>(report: &'r Value, name: &str) -> &'r Value {
    let events = report["trials"][0]["events"].as_array().expect("a trial has events");
    events.iter().find(|event| event["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {events:?}"))
}

#[test]
fn loss_that_comes_and_goes_and_a_service_that_is_killed_and_started_again_are_moments_that_are_judged() {
    let lab = Lab::of_ordinary_user();
    let steps = r#"
[[phases]]
name = "visits"
measure = "visitors"
during = [
  { at = "1500ms", name = "lossy", link = { between = ["client", "server"], loss = "30 %" } },
  { at = "2500ms", name = "clean", link = { between = ["client", "server"], loss = "0 %" } },
  { at = "4500ms", name = "killed", kill = { service = "web" } },
  { at = "5500ms", name = "back", start = { service = "web" } },
]
[[claims]]
step_recovery = { phase = "visits", step = "lossy", expect = "not_recovered", margin = "40 %" }
[[claims]]
step_recovery = { phase = "visits", step = "clean", margin = "40 %" }
[[claims]]
step_recovery = { phase = "visits", step = "killed", expect = "not_recovered", margin = "40 %" }
[[claims]]
step_recovery = { phase = "visits", step = "back", margin = "40 %" }
"#;
    let file = lab.file("moments.toml", &format!("{TWO_HOSTS}{steps}"));
    let output = lab.plimsoll_until_decided(&["run", &file, "--format", "json"]).exits(0);
    let report = output.json();
    let outcomes: Vec<&Value> =
        report["verdicts"].as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["not_recovered", "recovered", "not_recovered", "recovered"], "{report}");
    let at = |name: &str| event(&report, name)["at_s"].as_f64().expect("a time");
    // The file has 4 s between the first and the last step; a busy machine may be late.
    assert!((3.5..6.5).contains(&(at("back") - at("lossy"))), "{} {}", at("back"), at("lossy"));
    let killed = &event(&report, "killed")["recovery"];
    assert_eq!(killed["lowest"], 0.0, "nobody is served by a service that is dead: {killed}");
    assert!(event(&report, "back")["recovery"]["after_s"].as_f64().is_some(), "{report}");
    // The same in text, and as lines in the page.
    lab.plimsoll(&["show", "latest", "--details"])
        .exits(0)
        .prints("Steps")
        .prints("lossy")
        .prints("not recovered");
    let page = lab.plimsoll(&["show", "latest", "--format", "html"]).exits(0);
    page.prints("Steps").prints("\"dash\":\"dot\"");
}

#[test]
fn the_recovery_after_each_step_is_judged_against_a_control_that_is_spared_the_steps() {
    let lab = Lab::of_ordinary_user();
    let steps = r#"
[control]
idle_in = ["visits"]
[[phases]]
name = "visits"
measure = "visitors"
slices = 20
during = [
  { at = "3s", name = "lossy", link = { between = ["client", "server"], loss = "30 %" } },
  { at = "5s", name = "clean", link = { between = ["client", "server"], loss = "0 %" } },
  { at = "9s", name = "killed", kill = { service = "web" } },
  { at = "11s", name = "back", start = { service = "web" } },
]
[[claims]]
step_recovery = { phase = "visits", step = "lossy", expect = "not_recovered", margin = "40 %" }
[[claims]]
step_recovery = { phase = "visits", step = "clean", margin = "40 %" }
[[claims]]
step_recovery = { phase = "visits", step = "killed", expect = "not_recovered", margin = "40 %" }
[[claims]]
step_recovery = { phase = "visits", step = "back", margin = "40 %" }
"#;
    let file = lab.file("control.toml", &format!("{TWO_HOSTS}{steps}"));
    let report = lab.plimsoll_until_decided(&["run", &file, "--format", "json"]).exits(0).json();
    let events = report["trials"][0]["events"].as_array().expect("events");
    assert!(events.len() == 4 && events.iter().all(|event| event["arm"] == "treatment"), "{events:?}");
    let killed = &event(&report, "killed")["recovery"];
    assert_eq!(killed["lowest"], 0.0, "nobody is served by a service that is dead: {killed}");
    // The control goes on all the while.
    let visits = report["trials"][0]["phases"].as_array().expect("phases");
    let control = visits.iter().find(|phase| phase["arm"] == "control").expect("a control");
    assert_eq!(control["errors"], serde_json::json!({}), "{control}");
}

#[test]
fn a_step_is_a_factor_with_and_without_it() {
    let lab = Lab::of_ordinary_user();
    let steps = r#"
[[phases]]
name = "visits"
measure = "visitors"
during = [{ at = "100ms", name = "slow", link = { between = ["client", "server"], delay = "20ms" } }]
[factors.fault]
set = "phases.visits.during.slow.skip"
levels = [true, false]
[[claims]]
difference = { phase = "visits", factor = "fault", metric = "requests_per_second", expect = "slower" }
"#;
    let text =
        format!("{TWO_HOSTS}{steps}").replace("8s", "600ms").replace("max_trials = 1", "max_trials = 8");
    let file = lab.file("factor.toml", &text);
    let report = lab.plimsoll_until_decided(&["run", &file, "--format", "json"]).exits(0).json();
    assert_eq!(report["verdicts"][0]["outcome"], "slower", "{}", report["verdicts"]);
}

#[test]
fn a_load_is_started_and_ended_in_the_background_and_a_disk_is_filled_and_freed() {
    let lab = Lab::of_ordinary_user();
    let steps = r#"
[loads.others]
from = "client"
to = "web"
http = { duration = "1s", concurrency = 32 }
[[phases]]
name = "visits"
measure = "visitors"
during = [
  { at = "1500ms", name = "crowd", start_load = { load = "others" } },
  { at = "3s", name = "quiet", stop_load = { load = "others" } },
  { at = "3500ms", name = "full", fill = { scratch = "server", size = "3M" } },
  { at = "4s", name = "free", fill = { scratch = "server", size = 0 } },
]
"#;
    let text = format!("{TWO_HOSTS}{steps}").replace("8s", "6s");
    let file = lab.file("beside.toml", &text);
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits(0).json();
    let crowd = &event(&report, "crowd")["recovery"];
    let share = crowd["lowest"].as_f64().unwrap() / crowd["before"].as_f64().unwrap();
    assert!(share < 0.7, "32 others at a time leave the four less than they had: {crowd}");
    for name in ["quiet", "full", "free"] {
        event(&report, name);
    }
}

#[test]
fn what_makes_no_sense_of_a_step_while_a_load_runs_is_said_at_its_place() {
    let lab = Lab::new();
    for (phase, expected) in [
        (
            "measure = \"visitors\"\nduring = [{ kill = { service = \"web\" } }]",
            "does not say when it is done",
        ),
        (
            "measure = \"visitors\"\nduring = [{ at = \"1s\", kill = { service = \"wbe\" } }]",
            "no service `wbe`",
        ),
        (
            "measure = \"visitors\"\nduring = [{ at = \"1s\", link = { between = [\"client\", \"web\"], down = true } }]",
            "no link joins `client` and `web`",
        ),
        (
            "measure = \"visitors\"\nduring = [{ at = \"1s\", link = { between = [\"client\", \"server\"] } }]",
            "nothing of the link is changed",
        ),
        (
            "measure = \"visitors\"\nduring = [{ at = \"1s\", fill = { scratch = \"server\", share = \"90 %\" } }]",
            "would take space from its other users",
        ),
        (
            "measure = \"visitors\"\nduring = [{ at = \"1s\", stop_load = { load = \"visitors\" } }]",
            "no step starts",
        ),
        (
            "settle = { at_least = \"1s\" }\nduring = [{ at = \"1s\", kill = { service = \"web\" } }]",
            "means nothing here",
        ),
        ("do = [{ at = \"1s\", kill = { service = \"web\" } }]", "one after the other"),
        ("measure = []", "there is no load to run"),
    ] {
        let text = format!("{TWO_HOSTS}[[phases]]\nname = \"step\"\n{phase}\n");
        let file = lab.file("step.toml", &text);
        lab.plimsoll(&["check", &file]).exits(2).says(expected);
    }
}

#[test]
fn a_step_that_is_due_after_the_load_has_ended_makes_the_trial_worthless_and_is_named() {
    let lab = Lab::of_ordinary_user();
    let late = r#"
[[phases]]
name = "visits"
measure = "visitors"
during = [{ at = "30s", name = "too late", kill = { service = "web" } }]
"#;
    let file = lab.file("late.toml", &format!("{TWO_HOSTS}{late}").replace("8s", "500ms"));
    let report = lab.plimsoll(&["run", &file, "--format", "json"]).exits(4).json();
    let fault = &report["trials"][0]["faults"][0];
    assert_eq!(fault["kind"], "step_missed", "{report}");
    assert!(fault["what"].as_str().unwrap().contains("`too late`"), "{fault}");
}
