//! The comparisons of mmtests.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "mmtests",
    tool: "mmtests",
    command: "compare-kernels.sh",
    measured: &[
        "plain value,statistic,subject,side: the values of the kernels (`before` and `after`, or `1`, `2`, `3` ... of more), by the statistic (`Hmean`, `Amean`, `Stddev` ...) at the beginning of the row",
        "plain change,statistic,subject,side,marked %: the change of each other kernel against the first (`side` of more than two), with `marked=yes` where mmtests marks it as significant; better is positive",
    ],
    main: &["value"],
    checked: Checked::Documented("https://github.com/gormanm/mmtests"),
    marks: &["mean ", "Min ", "Max ", "Stddev ", "CoeffVar ", "Percentile"],
    start: |line| Row::of(line).map(|_| Start::Within),
    reader: Some(|_| Box::<Mmtests>::default()),
    ..Format::EMPTY
};

/// `Hmean  tput-1  43593.49 (   0.00%)  41616.85 *  -4.53%*`: the value of each kernel, and its change against the first.
struct Row<'t> {
    statistic: &'t str,
    subject: Option<&'t str>,
    kernels: Vec<Kernel>,
}

struct Kernel {
    value: f64,
    change: f64,
    /// Whether mmtests marks the change as significant.
    is_marked: bool,
}

impl Kernel {
    /// `41616.85 *  -4.53%*`, and the words behind it.
    fn of<'t, 'w>(words: &'w [&'t str]) -> Option<(Self, &'w [&'t str])> {
        let (value, rest) = words.split_first()?;
        let value = number(value)?;
        let (first, behind) = rest.split_first()?;
        let bare = first.trim_start_matches(['(', '*']);
        // `(   0.00%)` and `(-12.34%)`
        let (word, behind) = if bare.is_empty() { behind.split_first()? } else { (first, behind) };
        let change = word.trim_start_matches(['(', '*']).trim_end_matches([')', '*']).strip_suffix('%')?;
        let is_marked = first.starts_with('*');
        (is_marked || first.starts_with('(')).then_some(())?;
        Some((Self { value, change: number(change)?, is_marked }, behind))
    }
}

impl<'t> Row<'t> {
    fn of(line: &Line<'t>) -> Option<Self> {
        let words: Vec<&str> = line.words().collect();
        let (statistic, rest) = words.split_first()?;
        // Numbers of clients are subjects, too.
        let has_subject = rest.get(1).is_some_and(|word| !word.starts_with(['(', '*']));
        let subject = rest.first().copied().filter(|_| has_subject);
        let mut rest = &rest[usize::from(subject.is_some())..];
        let mut kernels = Vec::new();
        while !rest.is_empty() {
            let (kernel, behind) = Kernel::of(rest)?;
            kernels.push(kernel);
            rest = behind;
        }
        let is_base = |kernel: &Kernel| kernel.change == 0.0 && !kernel.is_marked;
        (kernels.len() > 1 && is_base(&kernels[0])).then_some(Self { statistic, subject, kernels })
    }
}

#[derive(Default)]
struct Mmtests {
    /// Statistics and subjects of this call.
    seen: Vec<String>,
}

impl Reader for Mmtests {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let Some(row) = Row::of(line) else { return Fit::Foreign };
        let key = format!("{} {}", row.statistic, row.subject.unwrap_or_default());
        if self.seen.contains(&key) {
            return Fit::Next;
        }
        self.seen.push(key);
        let are_two = row.kernels.len() == 2;
        let labels = [Some(("statistic", row.statistic)), row.subject.map(|subject| ("subject", subject))];
        for (at, kernel) in row.kernels.iter().enumerate() {
            let side = side(at, row.kernels.len());
            let common = || labels.into_iter().flatten();
            let value: Vec<_> = common().chain([("side", side.as_str())]).collect();
            out.put("value", kernel.value, "", &value);
            if at > 0 {
                let side = (!are_two).then_some(("side", side.as_str()));
                let marked = kernel.is_marked.then_some(("marked", "yes"));
                let change: Vec<_> = common().chain(side).chain(marked).collect();
                out.put("change", kernel.change, "%", &change);
            }
        }
        Fit::Mine
    }
}
