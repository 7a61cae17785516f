//! The text and the JSON (`--output-format=json`) of fio, also of several jobs.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "fio",
    tool: "fio",
    command: "fio JOBFILE, fio --output-format=json JOBFILE",
    measured: &[
        "higher throughput,job,operation B/s: `bw_bytes`; of the text `BW`",
        "higher operations_per_second,job,operation 1/s: `iops`",
        "lower latency,job,operation,stat ns: `lat_ns`: min, mean, max, stddev",
        "lower latency,job,operation,percentile ns: the percentiles of `lat_ns`, with `lat_percentiles=1`",
        "lower completion_latency,job,operation,stat us: `clat_ns`, `clat` of the text: min, mean, max, stdev",
        "lower completion_latency,job,operation,percentile ns: the percentiles of `clat_ns`",
        "lower submission_latency,job,operation,stat us: `slat` of the text",
        "plain sampled_throughput,job,operation,stat KiB/s: `bw` of the text",
        "plain sampled_operations_per_second,job,operation,stat 1/s: `iops` of the text",
        "plain operations,job,operation: `total_ios`",
        "plain transfer,job,operation B: `io_bytes`",
        "plain cpu,job,mode %: `usr_cpu`, `sys_cpu`",
    ],
    main: &["throughput"],
    checked: Checked::Run("3.33"),
    marks: &["(groupid=", "IOPS=", "iops=", "clat percentiles", "clat ("],
    start: |line| {
        if job(line.text).is_some() {
            return Some(Start::Within);
        }
        (operation(line.text).is_some() || statistics(line.text).is_some()).then_some(Start::Within)
    },
    reader: Some(|_| Box::<FioText>::default()),
    json: Some(Document::whole(|json| json.has(&["fio version", "jobs"]), document)),
    ..Format::EMPTY
};

const OPERATIONS: [&str; 3] = ["read", "write", "trim"];

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    let is_old = |version: &str| ["fio-1", "fio-2"].iter().any(|old| version.starts_with(old));
    let names = if json.text_of("fio version").is_some_and(|it| is_old(&it)) { &OLD } else { &TODAY };
    for job in json.get("jobs").map(|jobs| jobs.items()).unwrap_or_default() {
        let name = job.text_of("jobname").unwrap_or_default();
        for operation in OPERATIONS {
            let found = job.get(operation);
            // A job also lists operations that it never did.
            let did = |found: &Json<'_>| {
                found.get("total_ios").and_then(|all| all.number()).is_some_and(|all| all > 0.0)
            };
            if let Some(found) = found.filter(did) {
                of_operation(&found, names, [("job", name.as_ref()), ("operation", operation)], out);
            }
        }
        for (field, mode) in [("usr_cpu", "user"), ("sys_cpu", "system")] {
            out.json("cpu", job.get(field), "%", &[("job", &name), ("mode", mode)]);
        }
    }
}

/// Fields of an operation whose names or units depend on fio's version.
struct Names {
    throughput: (&'static str, &'static str),
    transfer: &'static str,
    latency: &'static str,
    completion: &'static str,
    time: &'static str,
}

const TODAY: Names = Names {
    throughput: ("bw_bytes", "B/s"),
    transfer: "B",
    latency: "lat_ns",
    completion: "clat_ns",
    time: "ns",
};
/// Before version 3.
const OLD: Names =
    Names { throughput: ("bw", "KiB/s"), transfer: "KiB", latency: "lat", completion: "clat", time: "us" };

const STATISTICS: [(&str, &str); 4] = [("min", "min"), ("mean", "mean"), ("max", "max"), ("stddev", "stdev")];

/// Statistics and percentiles of one kind of latency.
fn times(
    found: &Json<'_>,
    of: &str,
    metric: &'static str,
    its_unit: &'static str,
    labels: [(&'static str, &str); 2],
    out: &mut Out<'_>,
) {
    let [job, operation] = labels;
    for (field, stat) in STATISTICS {
        out.json(metric, found.at(&[of, field]), its_unit, &[job, operation, ("stat", stat)]);
    }
    for (percent, value) in found.at(&[of, "percentile"]).map(|all| all.fields()).unwrap_or_default() {
        let percent = percent.trim_end_matches('0').trim_end_matches('.').to_owned();
        out.json(metric, Some(value), its_unit, &[job, operation, ("percentile", &percent)]);
    }
}

fn of_operation(found: &Json<'_>, names: &Names, labels: [(&'static str, &str); 2], out: &mut Out<'_>) {
    out.json("throughput", found.get(names.throughput.0), names.throughput.1, &labels);
    out.json("operations_per_second", found.get("iops"), "1/s", &labels);
    out.json("operations", found.get("total_ios"), "", &labels);
    out.json("transfer", found.get("io_bytes"), names.transfer, &labels);
    times(found, names.latency, "latency", names.time, labels, out);
    times(found, names.completion, "completion_latency", names.time, labels, out);
}

/// `name: (groupid=0, jobs=1): err= 0: pid=3385`: the name.
fn job(text: &str) -> Option<&str> {
    text.split_once(": (groupid=").map(|(name, _)| name)
}

/// `read: IOPS=106, BW=53.1MiB/s (55.7MB/s)(...)`, before version 3 `read : io=10240MB, bw=63317KB/s, iops=15829, runt=165607msec`.
fn operation(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let name = name.trim();
    let rates = rest.contains("IOPS=") || rest.contains("iops=");
    (OPERATIONS.contains(&name) && rates).then_some((name, rest))
}

/// `clat (usec): min=102, max=575384, avg=6851.86`, `iops : min=9`: the metric, its unit, and the figures.
fn statistics(text: &str) -> Option<(&'static str, &'static str, &str)> {
    let (what, rest) = text.split_once(':')?;
    let (name, bracket) = what.split_once('(').unwrap_or((what, ""));
    // Version 2 writes `(KB  /s)`.
    let word: String = bracket.trim_end().trim_end_matches(')').split_whitespace().collect();
    let metric = match name.trim() {
        "lat" => "latency",
        "clat" => "completion_latency",
        "slat" => "submission_latency",
        "bw" => "sampled_throughput",
        "iops" => return rest.contains("avg=").then_some(("sampled_operations_per_second", "1/s", rest)),
        _ => return None,
    };
    let its_unit = unit::time(&word).or_else(|| unit::bytes_per_second(&word))?;
    rest.contains("avg=").then_some((metric, its_unit, rest))
}

#[derive(Default)]
struct FioText {
    job: String,
    operation: String,
    /// Jobs and operations whose rates were read.
    seen: Vec<(String, String)>,
    /// The metric and the unit of the percentiles that follow.
    percentiles: Option<(&'static str, &'static str)>,
}

impl Reader for FioText {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let text = line.text;
        if let Some(name) = job(text) {
            if self.seen.iter().any(|(job, _)| job == name) {
                return Fit::Next;
            }
            name.clone_into(&mut self.job);
            return Fit::Mine;
        }
        if let Some((operation, rest)) = operation(text) {
            let key = (self.job.clone(), operation.to_owned());
            if self.seen.contains(&key) {
                return Fit::Next;
            }
            self.seen.push(key);
            operation.clone_into(&mut self.operation);
            return self.rates(rest, out);
        }
        if let Some((metric, its_unit, rest)) = statistics(text) {
            return self.statistics(metric, its_unit, rest, out);
        }
        if let Some((kind, bracket)) = text.split_once("lat percentiles (") {
            let metric = if kind.ends_with('c') { "completion_latency" } else { "latency" };
            self.percentiles =
                unit::time(bracket.trim_end_matches([')', ':'])).map(|its_unit| (metric, its_unit));
            return Fit::Mine;
        }
        if let (Some((metric, its_unit)), Some(row)) = (self.percentiles, text.strip_prefix('|')) {
            return self.percentiles(metric, its_unit, row, out);
        }
        if let Some((_, rest)) = text.split_once(':').filter(|(name, _)| name.trim() == "cpu") {
            return self.cpu(rest, out);
        }
        const KNOWN: [&str; 14] = [
            "fio-",
            "Starting ",
            "Jobs: ",
            "lat (",
            "IO depths",
            "submit ",
            "complete ",
            "issued rwts",
            "latency ",
            "Run status",
            "READ: ",
            "WRITE: ",
            "Disk stats",
            "issued ",
        ];
        let known = KNOWN.iter().any(|known| text.starts_with(known))
            || text.contains(": (g=")
            || text.contains("Laying out IO file");
        if known { Fit::Mine } else { Fit::Foreign }
    }
}

impl FioText {
    fn labels(&self) -> Vec<(&'static str, &str)> {
        let all = [("job", self.job.as_str()), ("operation", self.operation.as_str())];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    fn rates(&self, rest: &str, out: &mut Out<'_>) -> Fit {
        let before = out.given;
        for (key, value) in rest.split(['(', ',']).filter_map(|part| part.trim().split_once('=')) {
            match key {
                "IOPS" | "iops" => {
                    out.put("operations_per_second", count(value.trim()), "1/s", &self.labels());
                }
                "BW" | "bw" => {
                    if let Some((value, behind)) = leading(value.trim())
                        && let Some(its_unit) = unit::bytes_per_second(behind.trim())
                    {
                        out.put("throughput", value, its_unit, &self.labels());
                    }
                }
                _ => {}
            }
        }
        if out.given > before { Fit::Mine } else { Fit::Foreign }
    }

    fn statistics(&self, metric: &str, its_unit: &'static str, rest: &str, out: &mut Out<'_>) -> Fit {
        for (key, value) in rest.split(',').filter_map(|part| part.trim().split_once('=')) {
            let stats = [("min", "min"), ("max", "max"), ("avg", "mean"), ("stdev", "stdev")];
            let stat = stats.iter().find(|(name, _)| *name == key).map(|(_, stat)| *stat);
            if let (Some(stat), Some(value)) = (stat, count(value.trim())) {
                let labels: Vec<_> = self.labels().into_iter().chain([("stat", stat)]).collect();
                out.put(metric, value, its_unit, &labels);
            }
        }
        Fit::Mine
    }

    /// `|  1.00th=[   355],  5.00th=[   611],`
    fn percentiles(&self, metric: &str, its_unit: &'static str, row: &str, out: &mut Out<'_>) -> Fit {
        for part in row.split("],") {
            let Some((percent, value)) = part.split_once("th=[") else { continue };
            let is_cut = part.trim_end().ends_with(|c: char| c.is_ascii_digit()) && row.ends_with(part);
            if is_cut {
                return out.refuse("the last percentile is cut off");
            }
            let percent = percent.trim().trim_end_matches('0').trim_end_matches('.');
            if let Some(value) = count(value.trim_end_matches(']').trim()) {
                let labels: Vec<_> = self.labels().into_iter().chain([("percentile", percent)]).collect();
                out.put(metric, value, its_unit, &labels);
            }
        }
        Fit::Mine
    }

    /// `usr=0.25%, sys=1.07%, ctx=...`
    fn cpu(&self, rest: &str, out: &mut Out<'_>) -> Fit {
        for (key, value) in rest.split(',').filter_map(|part| part.trim().split_once('=')) {
            let mode = [("usr", "user"), ("sys", "system")].iter().find(|(name, _)| *name == key);
            if let (Some((_, mode)), Some((value, "%"))) = (mode, leading(value)) {
                out.put("cpu", value, "%", &[("job", &self.job), ("mode", mode)]);
            }
        }
        Fit::Mine
    }
}
