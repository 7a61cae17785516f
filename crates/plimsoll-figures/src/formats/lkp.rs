//! The tables of the kernel test robot, and its `stats.json`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "lkp",
    tool: "the kernel test robot (lkp-tests)",
    command: "lkp compare",
    measured: &[
        "plain mean,metric,side: the means of the kernels: `before` and `after`, or `1`, `2`, `3` ... of more",
        "plain deviation,metric,side %: `%stddev`: the relative standard deviation, where it is not below 2 %",
        "plain change,metric,side %: `%change`, as the robot has it (`side` of more than two)",
        "plain change,metric,side points: the change of shares, in points",
        "plain value,metric: each value of `stats.json`",
    ],
    main: &["value"],
    checked: Checked::Documented("https://github.com/intel/lkp-tests"),
    marks: &["%stddev", "stats.json:"],
    start: |line| is_heading(line).then_some(Start::Head).or_else(|| rules::start(LINES, line)),
    reader: Some(|_| Box::new(Lkp { rules: rules::reader(LINES), seen: Vec::new() })),
    ..Format::EMPTY
};

const LINES: &[&str] = &["-\\ |{...}", "+{_}stats.json: \"{@metric}\": {value},"];

/// `%stddev  %change  %stddev`, and two more for each further kernel.
fn is_heading(line: &Line<'_>) -> bool {
    let words: Vec<&str> = line.words().collect();
    let (last, pairs) = words.split_last().unwrap_or((&"", &[]));
    *last == "%stddev" && !pairs.is_empty() && pairs.chunks(2).all(|pair| pair == ["%stddev", "%change"])
}

/// A kernel's column.
struct Kernel {
    /// Against the first kernel, with its unit.
    change: Option<(f64, &'static str)>,
    mean: f64,
    deviation: Option<f64>,
}

/// `210696 ±  6%  -3.0%  204465 ±  7%  cpuidle..usage`: the columns, and the metric.
fn row<'t>(line: &Line<'t>) -> Option<(Vec<Kernel>, &'t str)> {
    let words: Vec<&str> = line.words().collect();
    let (metric, mut rest) = words.split_last()?;
    let mut kernels = Vec::new();
    while !rest.is_empty() {
        let change = if kernels.is_empty() { None } else { Some(change(rest.split_off_first()?)?) };
        let mean = number(rest.split_off_first()?)?;
        let deviation = match rest {
            ["±", deviation, behind @ ..] => {
                rest = behind;
                Some(number(deviation.strip_suffix('%')?)?)
            }
            _ => None,
        };
        kernels.push(Kernel { change, mean, deviation });
    }
    (kernels.len() > 1 && number(metric).is_none()).then_some((kernels, metric))
}

/// `-3.0%`, or `-0.1` points of a share.
fn change(word: &str) -> Option<(f64, &'static str)> {
    word.starts_with(['+', '-']).then_some(())?;
    match word.strip_suffix('%') {
        Some(share) => Some((number(share)?, "%")),
        None => Some((number(word)?, "points")),
    }
}

struct Lkp {
    rules: Box<dyn Reader>,
    /// Metrics of this call.
    seen: Vec<String>,
}

impl Reader for Lkp {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if is_heading(line) {
            return Fit::Mine;
        }
        let Some((kernels, metric)) = row(line) else { return self.rules.line(line, out) };
        if self.seen.iter().any(|seen| seen == metric) {
            return Fit::Next;
        }
        self.seen.push(metric.to_owned());
        let are_two = kernels.len() == 2;
        for (at, kernel) in kernels.iter().enumerate() {
            let side = side(at, kernels.len());
            let labels = [("metric", metric), ("side", side.as_str())];
            out.put("mean", kernel.mean, "", &labels);
            out.put("deviation", kernel.deviation, "%", &labels);
            if let Some((change, its_unit)) = kernel.change {
                out.put("change", change, its_unit, if are_two { &labels[..1] } else { &labels });
            }
        }
        Fit::Mine
    }
}
