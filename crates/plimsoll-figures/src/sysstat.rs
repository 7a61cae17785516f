//! Common parts of sysstat's tools: tables whose lines begin with the time of day, and the form of their JSON.

use super::format::{Fit, Out, Reader};
use super::json::Json;
use super::line::{Line, words};
use super::number::{clock, number};

/// Columns that name what a line is about, and the label that each becomes.
const LABELS: [(&str, &str); 16] = [
    ("CPU", "cpu"),
    ("DEV", "device"),
    ("Device", "device"),
    ("IFACE", "interface"),
    ("INTR", "interrupt"),
    ("TTY", "terminal"),
    ("FILESYSTEM", "filesystem"),
    ("MOUNTPOINT", "filesystem"),
    ("BUS", "bus"),
    ("FAN", "sensor"),
    ("TEMP", "sensor"),
    ("UID", "user"),
    ("USER", "user"),
    ("PID", "pid"),
    ("TGID", "pid"),
    ("Command", "command"),
];
/// Labels that are left out where a process is named: they change while it runs, or say nothing more.
const BESIDE_A_PROCESS: [&str; 2] = ["user", "cpu"];

/// Whether a column names what a line is about.
pub(super) fn is_label(name: &str) -> bool {
    LABELS.iter().any(|(column, _)| *column == name)
}

/// The unit of a column by its name: sar(1), iostat(1). sysstat's kB are 1024 bytes.
pub(super) fn unit(name: &str) -> &'static str {
    match name {
        "Blk_read/s" | "Blk_wrtn/s" => "blocks/s",
        "Blk_read" | "Blk_wrtn" => "blocks",
        "rsec/s" | "wsec/s" => "sectors/s",
        "avgrq-sz" => "sectors",
        "tps" | "rtps" | "wtps" | "dtps" => "1/s",
        "VSZ" | "RSS" | "StkSize" | "StkRef" => "KiB",
        name if name.contains('%') => "%",
        name if name.contains("await") || name == "svctm" => "ms",
        name if name.starts_with("kB_") || name.ends_with("kB/s") || name.starts_with("kB") => {
            if name.ends_with("/s") { "KiB/s" } else { "KiB" }
        }
        // With -m, a MB of sysstat's is 1024 kB.
        name if name.starts_with("MB_") || name.ends_with("MB/s") => {
            if name.ends_with("/s") {
                "MiB/s"
            } else {
                "MiB"
            }
        }
        name if name.starts_with("kb") || name.ends_with("eq-sz") => "KiB",
        name if name.ends_with("/s") => "1/s",
        _ => "",
    }
}

/// When a line is, and the words behind that.
fn timed(text: &str) -> Option<(Option<f64>, Vec<&str>)> {
    if let Some(rest) = text.strip_prefix("Average:").or_else(|| text.strip_prefix("Summary:")) {
        return Some((None, words(rest).collect()));
    }
    let mut words = words(text).peekable();
    let first = words.next().filter(|word| word.len() >= 8)?;
    let half = words.next_if(|word| matches!(*word, "AM" | "PM"));
    Some((Some(clock(first, half)?), words.collect()))
}

/// The names of the columns, where a line has them behind the time.
pub(super) fn heading(text: &str) -> Option<Vec<&str>> {
    let untimed = || -> Option<(Option<f64>, Vec<&str>)> {
        // Some people cut the time from the heading.
        let words: Vec<&str> = words(text).collect();
        let (first, rest) = words.split_first()?;
        let known = ["CPU", "IFACE", "DEV"].contains(first);
        (known && rest.iter().all(|word| word.starts_with('%') || word.ends_with("/s")))
            .then_some((None, words))
    };
    let (_, words) = timed(text).or_else(untimed)?;
    let names = |word: &&str| number(word).is_none() && !word.ends_with(':');
    (words.len() > 1 && words.iter().all(names)).then_some(words)
}

/// First line: `Linux 6.1 (host) ... (2 CPU)`.
pub(super) fn is_banner(text: &str) -> bool {
    text.starts_with("Linux ") && text.contains('(') && (text.contains("CPU)") || text.contains("_x86_64_"))
}

/// Reads tables whose lines begin with the time of day.
#[derive(Default)]
pub(super) struct Clocked {
    names: Vec<String>,
    /// Whether the line before was blank, or the first: what follows may be a heading.
    after_gap: bool,
    rows: u64,
}

impl Reader for Clocked {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if is_banner(line.text) {
            return if self.rows > 0 { Fit::Next } else { Fit::Mine };
        }
        let Some((at, words)) = timed(line.text) else {
            self.after_gap = true;
            let Some(names) = heading(line.text) else { return Fit::Foreign };
            self.names = names.iter().map(|word| (*word).to_owned()).collect();
            return Fit::Mine;
        };
        let gap = std::mem::take(&mut self.after_gap) || self.names.is_empty();
        if (gap || at.is_none()) && heading(line.text).is_some() {
            self.names = words.iter().map(|word| (*word).to_owned()).collect();
            return Fit::Mine;
        }
        if words.contains(&"RESTART") || words.first() == Some(&"COM") {
            return Fit::Mine;
        }
        self.row(at, &words, out)
    }

    fn blank(&mut self) {
        self.after_gap = true;
    }

    fn goes_on(&self, line: &Line<'_>) -> bool {
        !is_banner(line.text)
    }
}

impl Clocked {
    fn row(&mut self, at: Option<f64>, words: &[&str], out: &mut Out<'_>) -> Fit {
        // The name of a command, which is the last column, may have blanks.
        let commands = self.names.last().is_some_and(|name| name == "Command");
        if self.names.is_empty()
            || words.len() < self.names.len()
            || (words.len() > self.names.len() && !commands)
        {
            return Fit::Foreign;
        }
        let label = |name: &str| LABELS.iter().find(|(column, _)| *column == name).map(|(_, label)| *label);
        let process = self.names.iter().any(|name| label(name) == Some("pid"));
        let pairs = || self.names.iter().zip(words);
        let labels = pairs().filter_map(|(name, word)| Some((label(name)?, *word)));
        let labels =
            labels.filter(|(name, value)| *value != "-" && !(process && BESIDE_A_PROCESS.contains(name)));
        let labels: Vec<(&'static str, &str)> =
            labels.chain(at.is_none().then_some(("stat", "mean"))).collect();
        let figures = || pairs().filter(|(name, _)| label(name).is_none());
        if figures().any(|(_, word)| number(word).is_none() && *word != "-") {
            return Fit::Foreign;
        }
        // Shares of a processor's time, which per process may be more than the whole.
        const SHARES: [&str; 11] = [
            "%usr", "%user", "%nice", "%sys", "%system", "%iowait", "%irq", "%soft", "%steal", "%guest",
            "%idle",
        ];
        let shares = || {
            let of_cpu = |(name, _): &(&String, &&str)| SHARES.contains(&name.as_str()) && !process;
            figures().filter(of_cpu).filter_map(|(_, word)| number(word))
        };
        if let Some(why) = super::rules::impossible_shares(shares()) {
            return out.refuse(why);
        }
        self.rows += 1;
        for (name, word) in figures() {
            if let Some(value) = number(word) {
                out.put_at(at, name, value, unit(name), &labels);
            }
        }
        Fit::Mine
    }
}

/// The statistics at each time, from a document of sadf, mpstat or iostat.
pub(super) fn statistics<'t>(json: &Json<'t>) -> Vec<Json<'t>> {
    let hosts = json.at(&["sysstat", "hosts"]).map(|hosts| hosts.items()).unwrap_or_default();
    let all =
        hosts.iter().filter_map(|host| host.get("statistics")).flat_map(|statistics| statistics.items());
    all.collect()
}

/// Reads a document of sadf, mpstat or iostat.
pub(super) fn document(json: &Json<'_>, out: &mut Out<'_>) {
    for moment in statistics(json) {
        let time =
            moment.get("timestamp").and_then(|timestamp| timestamp.get("time").unwrap_or(timestamp).text());
        let at = time.and_then(|time| clock(time.split_whitespace().last()?, None));
        for (table, value) in moment.fields() {
            if table != "timestamp" {
                of_table(at, &table, &value, out);
            }
        }
    }
}

/// Reads a table: a row of numbers, several of them, or tables in it.
fn of_table(at: Option<f64>, table: &str, value: &Json<'_>, out: &mut Out<'_>) {
    for row in value.items() {
        of_row(at, table, &row, out);
    }
    let fields = value.fields();
    let nested = fields.iter().any(|(_, field)| !field.items().is_empty() || !field.fields().is_empty());
    if nested {
        for (name, field) in fields {
            for row in field.items() {
                of_row(at, &name, &row, out);
            }
            if !field.fields().is_empty() {
                of_row(at, &name, &field, out);
            }
        }
    } else if !fields.is_empty() {
        of_row(at, table, value, out);
    }
}

/// Reads a row: texts and names of its subject become labels.
fn of_row(at: Option<f64>, table: &str, row: &Json<'_>, out: &mut Out<'_>) {
    const NAMES: [(&str, &str); 6] = [
        ("cpu", "cpu"),
        ("iface", "interface"),
        ("disk-device", "device"),
        ("disk_device", "device"),
        ("intr", "interrupt"),
        ("filesystem", "filesystem"),
    ];
    let fields = row.fields();
    let label = |name: &str| NAMES.iter().find(|(field, _)| *field == name).map(|(_, label)| *label);
    let found: Vec<(&'static str, String)> =
        fields.iter().filter_map(|(name, value)| Some((label(name)?, value.text()?))).collect();
    let mut labels: Vec<(&'static str, &str)> =
        found.iter().map(|(name, value)| (*name, value.as_str())).collect();
    labels.push(("table", table));
    for (name, value) in &fields {
        if label(name).is_none() {
            let its_unit = if table.starts_with("cpu-load") || table == "avg-cpu" { "%" } else { unit(name) };
            out.json_at(at, name, Some(*value), its_unit, &labels);
        }
    }
}
