//! The text and the JSON lines (`-j`) of `perf stat`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "perf-stat",
    tool: "perf stat",
    command: "perf stat -r 5 COMMAND, perf stat -I 1000 COMMAND, perf stat -j -I 1000 COMMAND",
    measured: &[
        "lower elapsed,of s: `seconds time elapsed`; with `-r` the mean",
        "lower elapsed_each s: each run, with `--table`",
        "plain standard_error,of %: what stands behind `+-`, in per cent of the mean",
        "plain runs: the number of runs, with `-r`",
        "plain cpu,mode s: `seconds user` and `seconds sys`",
        "plain *,cpu ms, counts: the count of each event, by its name; what was not counted or is not supported is left out",
    ],
    main: &["elapsed_each", "elapsed", "cycles", "task-clock"],
    checked: Checked::Run("6.1"),
    marks: &["Performance counter stats for", "time elapsed", "# ", "( +-", "msec", "counts unit events"],
    start: |line| {
        if line.text.contains("Performance counter stats for") {
            return Some(Start::Head);
        }
        let remark =
            ["CPUs utilized", "insn per cycle", "insns per cycle", " GHz", "of all branches", "( +-"];
        if is_heading(line.text) {
            return Some(Start::Head);
        }
        if interval(line.text).is_some_and(|(.., rest)| counter(rest).is_some()) {
            return Some(Start::Within);
        }
        let counted = counter(line.text).is_some() && remark.iter().any(|remark| line.text.contains(remark));
        (counted || elapsed(line.text).is_some()).then_some(Start::Within)
    },
    reader: Some(|_| Box::<PerfStat>::default()),
    json: Some(Document { is: |json| json.has(&["counter-value", "event"]), read: document, by_line: true }),
    ..Format::EMPTY
};

/// A count as perf prints it: whole, with thousands between commas or points, as the language has it.
fn count(word: &str) -> Option<f64> {
    let groups: Vec<&str> = word.split([',', '.']).collect();
    let grouped = groups.len() > 1
        && groups[1..].iter().all(|group| group.len() == 3)
        && (1..=3).contains(&groups[0].len());
    let digits = word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'.'));
    let one_mark = !(word.contains(',') && word.contains('.'));
    match (digits, grouped && one_mark) {
        (false, _) => None,
        (true, true) => groups.concat().parse().ok(),
        (true, false) => number(word),
    }
}

/// A time with decimals behind the last mark, whatever the language: `8,926.13`, `8.926,13`.
fn decimal(word: &str) -> Option<f64> {
    match word.rfind([',', '.']) {
        Some(mark) if word[..mark].contains([',', '.']) => {
            let digits = &word[mark + 1..];
            let other = if word[mark..].starts_with(',') { '.' } else { ',' };
            let groups: Vec<&str> = word[..mark].split(other).collect();
            let grouped =
                groups[1..].iter().all(|group| group.len() == 3) && (1..=3).contains(&groups[0].len());
            grouped.then(|| number(&format!("{}.{digits}", groups.concat())))?
        }
        _ => number(word),
    }
}

/// Text after `+-` in brackets: the standard error in per cent.
fn error(text: &str) -> Option<f64> {
    let (_, rest) = text.rsplit_once("( +-")?;
    leading(rest.trim_start()).filter(|(_, behind)| behind.starts_with('%')).map(|(value, _)| value)
}

/// `5,649,595,479 cycles  #  2.942 GHz`, `8,926.13 msec task-clock:u`: the event, its count and its unit.
fn counter(text: &str) -> Option<(&str, f64, &'static str)> {
    let (before, _) = text.split_once('#').or_else(|| text.split_once("( +-")).unwrap_or((text, ""));
    let words: Vec<&str> = before.split_whitespace().collect();
    let is_event = |word: &str| word.starts_with(char::is_alphabetic);
    match words.as_slice() {
        [value, "msec", event, ..] if is_event(event) => Some((event, decimal(value)?, "ms")),
        // Before version 4 the unit stood behind the event, or nowhere.
        [value, event, "(msec)", ..] if is_event(event) => Some((event, decimal(value)?, "ms")),
        [value, event @ ("task-clock" | "cpu-clock")] => Some((event, decimal(value)?, "ms")),
        // How much of the time it was counted may follow.
        [value, event, rest @ ..]
            if is_event(event) && rest.iter().all(|word| word.starts_with(['(', '['])) =>
        {
            Some((event, count(value)?, ""))
        }
        _ => None,
    }
}

/// The heading of `-I`: `#           time             counts unit events`.
fn is_heading(text: &str) -> bool {
    text.starts_with('#') && text.ends_with("counts unit events")
}

/// A line of `-I`: `123.100852112  5,109,360,888  cycles`, with `-A` a CPU behind the time: when, the CPU, and the rest.
fn interval(text: &str) -> Option<(f64, Option<&str>, &str)> {
    let (time, rest) = text.split_once(char::is_whitespace)?;
    let (_, decimals) = time.split_once(['.', ','])?;
    let rest = rest.trim_start();
    let cpu = rest.split_once(char::is_whitespace).filter(|(cpu, _)| cpu.starts_with("CPU"));
    let (cpu, rest) = cpu.map_or((None, rest), |(cpu, rest)| (Some(cpu.trim_start_matches("CPU")), rest));
    // Nanoseconds, so that no count is taken for a time.
    (decimals.len() == 9).then_some((number(time)?, cpu, rest.trim_start()))
}

/// `9.5136 +- 0.0394 seconds time elapsed`, perhaps behind a name: the name, and the seconds.
fn elapsed(text: &str) -> Option<(Option<&str>, f64)> {
    let (before, _) = text.split_once(" seconds time elapsed")?;
    let (name, figures) =
        before.rsplit_once(':').map_or((None, before), |(name, rest)| (Some(name.trim()), rest));
    let words: Vec<&str> = figures.split_whitespace().collect();
    let ([value] | [value, "+-", _]) = words.as_slice() else { return None };
    Some((name, decimal(value)?))
}

#[derive(Default)]
struct PerfStat {
    /// Events that were read in this call.
    seen: Vec<String>,
    /// When the last interval ended.
    at: f64,
}

impl Reader for PerfStat {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let text = line.text;
        if let Some((_, rest)) = text.split_once("Performance counter stats for") {
            let runs = rest.rsplit_once('(').and_then(|(_, runs)| runs.strip_suffix(" runs):"));
            out.put("runs", runs.and_then(number), "", &[]);
            return Fit::Mine;
        }
        if is_heading(text) {
            return Fit::Mine;
        }
        if let Some((at, cpu, rest)) = interval(text)
            && (counter(rest).is_some() || rest.starts_with("<not "))
        {
            return self.interval(at, cpu, rest, out);
        }
        let (event, value, unit, metric, of) = if let Some((name, value)) = elapsed(text) {
            ("elapsed", value, "s", "elapsed", name.map(|name| ("of", name)))
        } else if let Some((event, value, unit)) = counter(text) {
            (event, value, unit, event, None)
        } else {
            return other(text, out);
        };
        // The time stands below the counts.
        let ended = metric != "elapsed" && self.seen.iter().any(|key| key.starts_with("elapsed "));
        let key = format!("{event} {of:?}");
        if ended || self.seen.contains(&key) {
            return Fit::Next;
        }
        self.seen.push(key);
        out.put(metric, value, unit, of.as_slice());
        out.put("standard_error", error(text), "%", &[("of", of.map_or(event, |(_, name)| name))]);
        Fit::Mine
    }

    /// The heading of `-I` comes again after each 25 intervals.
    fn goes_on(&self, line: &Line<'_>) -> bool {
        self.at > 0.0 && is_heading(line.text)
    }
}

impl PerfStat {
    fn interval(&mut self, at: f64, cpu: Option<&str>, rest: &str, out: &mut Out<'_>) -> Fit {
        if at < self.at {
            return Fit::Next;
        }
        let Some((event, value, unit)) = counter(rest) else { return other(rest, out) };
        self.at = at;
        let label = cpu.map(|cpu| ("cpu", cpu));
        out.put_at(Some(at), event, value, unit, label.as_slice());
        Fit::Mine
    }
}

/// Lines of other forms.
fn other(text: &str, out: &mut Out<'_>) -> Fit {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [value, "seconds", mode @ ("user" | "sys")] => {
            let Some(value) = decimal(value) else { return Fit::Foreign };
            out.put("cpu", value, "s", &[("mode", mode)]);
            Fit::Mine
        }
        // `9.078223741 (+0.139870049) #`
        [value, difference, "#", ..] if difference.starts_with(['(']) && difference.ends_with(')') => {
            let Some(value) = decimal(value) else { return Fit::Foreign };
            out.put("elapsed_each", value, "s", &[]);
            Fit::Mine
        }
        ["#", ..] | ["<not", "counted>" | "supported>", ..] => Fit::Mine,
        _ => Fit::Foreign,
    }
}

fn document(json: &Json<'_>, out: &mut Out<'_>) {
    let Some(event) = json.text_of("event") else { return };
    let word = json.text_of("unit").unwrap_or_default();
    let its_unit = unit::time(&word).unwrap_or(&word);
    let at = json.get("interval").and_then(|interval| interval.number());
    let cpu = json.text_of("cpu").or_else(|| json.text_of("core"));
    let label = cpu.as_deref().map(|cpu| ("cpu", cpu));
    out.json_at(at, &event, json.get("counter-value"), its_unit, label.as_slice());
}
