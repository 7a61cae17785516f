//! Checks of captures.

use super::{Checked, declared, in_range, measured, problem};
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

pub(super) fn check(experiment: &Experiment, phases: &BTreeMap<String, Option<&str>>) -> Checked {
    let Some(capture) = &experiment.capture else { return Ok(()) };
    for (key, hosts) in [("on", &capture.on), ("towards", &capture.towards)] {
        for (index, host) in hosts.iter().enumerate() {
            declared(host, &experiment.hosts, "host", path!["capture", key, index])?;
        }
    }
    if let Some(local) = capture.hosts(&experiment.loads).iter().find(|host| shares_network(experiment, host))
    {
        return Err(problem(
            path!["capture"],
            format!("`{local}` is a local host, whose interfaces are the machine's"),
            "`on` with hosts of kind \"namespace\"",
        ));
    }
    for (index, service) in capture.services.iter().enumerate() {
        declared(service, &experiment.services, "service", path!["capture", "services", index])?;
    }
    for (index, phase) in capture.phases.iter().enumerate() {
        measured(phase, phases, path!["capture", "phases", index])?;
    }
    in_range(u64::from(capture.snap), 64, 65_535, path!["capture", "snap"])?;
    in_range(capture.ring.0, 4 << 20, 1 << 30, path!["capture", "ring"])
}

fn shares_network(experiment: &Experiment, host: &str) -> bool {
    // A machine that is there already refuses a capture itself.
    let shares = |own: crate::experiment::OwnResources| !own.network && !own.kernel;
    experiment.hosts.get(host).is_some_and(|host| shares(host.kind.own()))
}

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, Settings};

    const TEXT: &str = r#"
question = "where did the time go?"
[hosts.a]
[hosts.b]
[[links]]
between = ["a", "b"]
[services.sink]
on = "b"
bulk = {}
[loads.stream]
from = "a"
to = "sink"
bulk = { total = "1M" }
[[phases]]
name = "all"
measure = "stream"
[capture]
[factors.by]
set = "loads.stream.bulk.by"
levels = ["write", "splice"]
[[claims]]
difference = { phase = "all", factor = "by", metric = "stall_share" }
"#;

    fn read(from: &str, to: &str) -> Result<Plan, String> {
        Plan::read("test", &TEXT.replace(from, to), &Settings::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn packets_are_captured_where_loads_run_by_default() {
        let capture = |plan: &Plan| plan.experiment.capture.clone().expect("it is there");
        let plan = read("", "").unwrap();
        assert_eq!(capture(&plan).hosts(&plan.experiment.loads), ["a"]);
        assert!(capture(&plan).is_in("all"));
        let plan = read("[capture]", "[capture]\non = [\"b\", \"a\", \"b\"]").unwrap();
        assert_eq!(capture(&plan).hosts(&plan.experiment.loads), ["a", "b"]);
    }

    #[test]
    fn what_leans_on_packets_needs_them() {
        assert!(read("[capture]", "").unwrap_err().contains("none are captured"));
        let recovery = "recovery = { baseline = \"all\", after = \"all\", metric = \"stall_share\" }";
        let error =
            read("difference = { phase = \"all\", factor = \"by\", metric = \"stall_share\" }", recovery);
        assert!(error.unwrap_err().contains("not of its parts"));
        let recovery = recovery.replace("stall_share", "loss_share");
        let error =
            read("difference = { phase = \"all\", factor = \"by\", metric = \"stall_share\" }", &recovery);
        assert!(error.unwrap_err().contains("a share may be 0"));
    }

    #[test]
    fn hosts_phases_and_sizes_are_checked() {
        for (setting, expected) in [
            ("on = [\"c\"]", "there is no host `c`"),
            ("towards = [\"c\"]", "there is no host `c`"),
            ("services = [\"c\"]", "there is no service `c`"),
            ("phases = [\"c\"]", "there is no measured phase `c`"),
            ("snap = 20", "20 is out of range"),
            ("ring = \"1k\"", "1024 is out of range"),
        ] {
            let error = read("[capture]", &format!("[capture]\n{setting}")).unwrap_err();
            assert!(error.contains(expected), "{setting}: {error}");
        }
        assert!(read("[hosts.a]", "[hosts.a]\nkind = \"local\"").is_err());
    }
}
