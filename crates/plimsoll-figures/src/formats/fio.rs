//! The JSON of fio (`--output-format=json`), also of several jobs.

use super::super::format::{Checked, Document, Format, Measured, Out};
use super::super::json::Json;

pub(super) const FORMAT: Format = Format {
    name: "fio",
    tool: "fio",
    command: "fio --output-format=json JOBFILE",
    measured: &[
        Measured::higher("throughput", "B/s", &["job", "operation"], "`bw_bytes`"),
        Measured::higher("operations_per_second", "1/s", &["job", "operation"], "`iops`"),
        Measured::lower("latency", "ns", &["job", "operation", "stat"], "`lat_ns`: min, mean, max, stddev"),
        Measured::lower(
            "latency",
            "ns",
            &["job", "operation", "percentile"],
            "the percentiles of `clat_ns` (of `lat_ns` with `lat_percentiles=1`)",
        ),
        Measured::plain("operations", "", &["job", "operation"], "`total_ios`"),
        Measured::plain("transfer", "B", &["job", "operation"], "`io_bytes`"),
        Measured::plain("cpu", "%", &["job", "mode"], "`usr_cpu`, `sys_cpu`"),
    ],
    main: &["throughput"],
    checked: Checked::Run("3.33"),
    json: Some(Document { is: |json| json.has(&["fio version", "jobs"]), read: document, by_line: false }),
    ..Format::EMPTY
};

const OPERATIONS: [&str; 3] = ["read", "write", "trim"];

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for job in json.get("jobs").map(|jobs| jobs.items()).unwrap_or_default() {
        let name = job.text_of("jobname").unwrap_or_default();
        for operation in OPERATIONS {
            let found = job.get(operation);
            // A job tells of operations that it never did, too.
            let did = |found: &Json<'_>| {
                found.get("total_ios").and_then(|all| all.number()).is_some_and(|all| all > 0.0)
            };
            if let Some(found) = found.filter(did) {
                of_operation(&found, &name, operation, out);
            }
        }
        for (field, mode) in [("usr_cpu", "user"), ("sys_cpu", "system")] {
            out.json("cpu", job.get(field), "%", &[("job", &name), ("mode", mode)]);
        }
    }
}

fn of_operation(found: &Json<'_>, job: &str, operation: &str, out: &mut Out<'_>) {
    let labels = [("job", job), ("operation", operation)];
    out.json("throughput", found.get("bw_bytes"), "B/s", &labels);
    out.json("operations_per_second", found.get("iops"), "1/s", &labels);
    out.json("operations", found.get("total_ios"), "", &labels);
    out.json("transfer", found.get("io_bytes"), "B", &labels);
    let [of_job, of_operation] = labels;
    for (field, stat) in [("min", "min"), ("mean", "mean"), ("max", "max"), ("stddev", "stdev")] {
        out.json("latency", found.at(&["lat_ns", field]), "ns", &[of_job, of_operation, ("stat", stat)]);
    }
    for times in ["clat_ns", "lat_ns"] {
        for (percent, value) in found.at(&[times, "percentile"]).map(|all| all.fields()).unwrap_or_default() {
            let percent = percent.trim_end_matches('0').trim_end_matches('.').to_owned();
            out.json("latency", Some(value), "ns", &[of_job, of_operation, ("percentile", &percent)]);
        }
    }
}
