//! Cases of the bench, their truth, and the grade of what was named.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Truth of injected faults.
const INJECTED: &str = "faults/truth.txt";
/// Truth of cases by other authors.
pub(super) const OUTSIDE: &str = "faults/outside.tsv";
/// Empty entry of a truth file.
const NONE: &str = "-";
/// What the user of a bench looks at of a list of causes.
const FIRST: usize = 3;

/// A fault or an innocent change, and what must be named of it.
pub(super) struct Case {
    /// `FAULT/WORKLOAD`, or the folder of an outside author's case.
    pub(super) name: String,
    pub(super) truth: Truth,
    /// Whether the explainer was changed with the case in view.
    pub(super) is_tuned: bool,
    pub(super) source: Source,
}

/// Origin of a case.
pub(super) enum Source {
    /// Two halves of an experiment file, and further settings of it.
    Injected { fault: String, workload: String, settings: Vec<String> },
    /// A folder with a script, which needs these programs.
    Outside { workload: String, needs: Vec<String> },
}

/// What must be named: of each fault one alternative. Nothing of an innocent.
#[derive(Debug, PartialEq)]
pub(super) struct Truth(Vec<Vec<Accepted>>);

/// A cause that names a fault.
#[derive(Debug, PartialEq)]
struct Accepted {
    /// Its id, or the beginning of one with a star.
    id: String,
    /// Words of which its title or evidence must have one; any title will do where there are none.
    words: Vec<String>,
}

/// What a run or a comparison has said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// Outcome of the verdict, or `failed`.
    pub(super) outcome: String,
    pub(super) causes: Vec<NamedCause>,
}

/// A cause that was named.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NamedCause {
    pub(super) id: String,
    pub(super) confidence: f64,
    /// Title, and the names of the evidence.
    texts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grade {
    Right,
    AmongThree,
    /// Something else was named.
    Missed,
    /// There was a difference, and nothing was named.
    Silent,
    /// A cause was named where nothing was wrong.
    Accused,
    /// The run was not sure of a difference, so that there was nothing to explain.
    NoDifference,
    /// Nothing was measured.
    Failed,
}

impl Grade {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::AmongThree => "among three",
            Self::Missed => "missed",
            Self::Silent => "silent",
            Self::Accused => "accused",
            Self::NoDifference => "no difference",
            Self::Failed => "failed",
        }
    }
}

/// All cases: the injected ones, then those of other authors.
pub(super) fn all() -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for line in lines(INJECTED)? {
        cases.extend(injected(&line).ok_or_else(|| format!("{INJECTED}: {line}"))?);
    }
    for line in lines(OUTSIDE)? {
        cases.push(outside(&line).ok_or_else(|| format!("{OUTSIDE}: {line}"))?);
    }
    Ok(cases)
}

fn lines(file: &str) -> Result<Vec<String>, String> {
    let text = super::read(Path::new(file))?;
    Ok(text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect())
}

/// Cases of a line of the injected faults.
fn injected(line: &str) -> Option<Vec<Case>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [fault, accepted, settings, tuned, held_back] = *words.as_slice() else { return None };
    let over = |workloads, is_tuned| {
        let case = move |workload: String| Case {
            name: format!("{fault}/{workload}"),
            truth: Truth::parse(accepted),
            is_tuned,
            source: Source::Injected { fault: fault.to_owned(), workload, settings: listed(settings) },
        };
        listed(workloads).into_iter().map(case)
    };
    Some(over(tuned, true).chain(over(held_back, false)).collect())
}

/// Case of a line of the outside authors' ones.
fn outside(line: &str) -> Option<Case> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [name, workload, looked_at, needs, accepted] = *columns.as_slice() else { return None };
    let is_tuned = match looked_at {
        "tuned" => true,
        "unseen" => false,
        _ => return None,
    };
    let source = Source::Outside { workload: workload.to_owned(), needs: listed(needs) };
    Some(Case { name: name.to_owned(), truth: Truth::parse(accepted), is_tuned, source })
}

/// Names with commas between.
fn listed(word: &str) -> Vec<String> {
    word.split(',').filter(|word| *word != NONE).map(str::to_owned).collect()
}

impl Case {
    pub(super) fn workload(&self) -> &str {
        let (Source::Injected { workload, .. } | Source::Outside { workload, .. }) = &self.source;
        workload
    }

    pub(super) fn is_outside(&self) -> bool {
        matches!(self.source, Source::Outside { .. })
    }

    /// Whether a word of the command line means it: a group of cases, its name, its fault or its workload.
    pub(super) fn is_meant_by(&self, word: &str) -> bool {
        let is_of_fault = matches!(&self.source, Source::Injected { fault, .. } if fault == word);
        let is_of_group = word == if self.is_outside() { "outside" } else { "injected" };
        is_of_group || is_of_fault || word == self.workload() || word == self.name
    }

    pub(super) fn grade(&self, measured: &Measured) -> Grade {
        let causes = &measured.causes;
        match &self.truth {
            _ if measured.outcome == Measured::FAILED => Grade::Failed,
            truth if truth.is_innocent() && causes.is_empty() => Grade::Right,
            truth if truth.is_innocent() => Grade::Accused,
            truth if causes.first().is_some_and(|first| truth.has(first)) => Grade::Right,
            truth if truth.are_all_among(causes) => Grade::AmongThree,
            _ if !measured.made_a_difference() => Grade::NoDifference,
            _ if causes.is_empty() => Grade::Silent,
            _ => Grade::Missed,
        }
    }
}

impl Truth {
    fn parse(text: &str) -> Self {
        let alternatives = |fault: &str| fault.split('|').map(|one| Accepted::parse(one.trim())).collect();
        Self(if text == NONE { Vec::new() } else { text.split('+').map(alternatives).collect() })
    }

    pub(super) fn is_innocent(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether several faults are injected at once.
    pub(super) fn is_of_several(&self) -> bool {
        self.0.len() > 1
    }

    fn has(&self, cause: &NamedCause) -> bool {
        self.0.iter().flatten().any(|accepted| accepted.is(cause))
    }

    /// Whether each fault is named among the first three causes.
    pub(super) fn are_all_among(&self, causes: &[NamedCause]) -> bool {
        let first = &causes[..FIRST.min(causes.len())];
        let is_named = |fault: &Vec<Accepted>| first.iter().any(|cause| fault.iter().any(|it| it.is(cause)));
        self.0.iter().all(is_named)
    }

    /// Accepted causes, as a table shows them.
    pub(super) fn text(&self) -> String {
        let fault = |fault: &Vec<Accepted>| fault.iter().map(Accepted::text).collect::<Vec<_>>().join(" or ");
        let faults: Vec<String> = self.0.iter().map(fault).collect();
        if faults.is_empty() { "none".to_owned() } else { faults.join(" and ") }
    }
}

impl Accepted {
    fn parse(text: &str) -> Self {
        let (id, words) = text.split_once(':').unwrap_or((text, NONE));
        Self { id: id.to_owned(), words: listed(words) }
    }

    fn text(&self) -> String {
        let id = if self.id == "*" { "any" } else { &self.id };
        if self.words.is_empty() { id.to_owned() } else { format!("{id} ({})", self.words.join(", ")) }
    }

    fn is(&self, cause: &NamedCause) -> bool {
        let is_id = match self.id.strip_suffix('*') {
            Some(start) => cause.id.starts_with(start),
            None => cause.id == self.id,
        };
        let says = |word: &String| {
            let word = word.to_lowercase();
            cause.texts.iter().any(|text| text.to_lowercase().contains(&word))
        };
        is_id && (self.words.is_empty() || self.words.iter().any(says))
    }
}

impl Measured {
    const FAILED: &str = "failed";

    pub(super) fn failed() -> Self {
        Self { outcome: Self::FAILED.to_owned(), causes: Vec::new() }
    }

    /// Whether it is sure of a difference: without one there is nothing to explain.
    pub(super) fn made_a_difference(&self) -> bool {
        matches!(self.outcome.as_str(), "slower" | "faster")
    }

    /// From the JSON report of `run`, or the verdict of `compare`.
    pub(super) fn of_report(report: &Value) -> Self {
        let outcome = report["verdicts"][0]["outcome"].as_str().or(report["outcome"].as_str());
        let evidence = |cause: &Value| {
            let quoted = cause["evidence"].as_array().into_iter().flatten();
            quoted.filter_map(|it| it["metric"].as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        let cause = |cause: &Value| {
            let title = cause["title"].as_str()?.to_owned();
            Some(NamedCause {
                id: cause["id"].as_str()?.to_owned(),
                confidence: cause["confidence"].as_f64()?,
                texts: [title].into_iter().chain(evidence(cause)).collect(),
            })
        };
        let causes = report["causes"].as_array().into_iter().flatten().filter_map(cause);
        Self { outcome: outcome.unwrap_or("none").to_owned(), causes: causes.take(FIRST).collect() }
    }

    /// Row of the file of measured cases, with what else stands in it.
    pub(super) fn row(&self, case: &str, more: &[(&str, &str)]) -> Value {
        let cause = |it: &NamedCause| json!({"id": it.id, "confidence": it.confidence, "texts": it.texts});
        let causes: Vec<Value> = self.causes.iter().map(cause).collect();
        let mut row = json!({"case": case, "outcome": self.outcome, "causes": causes});
        more.iter().for_each(|(name, value)| row[*name] = Value::from(*value));
        row
    }

    /// Case of a row, and what was said of it.
    pub(super) fn of_row(row: &Value) -> Option<(String, Self)> {
        let texts = |cause: &Value| -> Option<Vec<String>> {
            let texts = cause["texts"].as_array()?.iter();
            texts.map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        let cause = |cause: &Value| {
            let (id, confidence) = (cause["id"].as_str()?.to_owned(), cause["confidence"].as_f64()?);
            Some(NamedCause { id, confidence, texts: texts(cause)? })
        };
        let causes = row["causes"].as_array()?.iter().map(cause).collect::<Option<_>>()?;
        Some((
            row["case"].as_str()?.to_owned(),
            Self { outcome: row["outcome"].as_str()?.to_owned(), causes },
        ))
    }
}

/// The rows of a file of measured cases; empty if it is missing.
pub(super) fn rows(file: &str) -> Result<Vec<(String, Measured)>, String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let row = |line: &str| {
        let row = serde_json::from_str(line).ok().and_then(|row| Measured::of_row(&row));
        row.ok_or_else(|| format!("{file}: no row of a case: {line}"))
    };
    text.lines().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(causes: &[(&str, &str)]) -> Measured {
        let cause = |(id, title): &(&str, &str)| NamedCause {
            id: (*id).to_owned(),
            confidence: 0.5,
            texts: vec![(*title).to_owned()],
        };
        Measured { outcome: "slower".to_owned(), causes: causes.iter().map(cause).collect() }
    }

    fn grade(accepted: &str, causes: &[(&str, &str)]) -> Grade {
        outside(&format!("1-x\tnginx\ttuned\t-\t{accepted}")).unwrap().grade(&named(causes))
    }

    #[test]
    fn a_line_of_injected_faults_is_one_case_for_each_workload() {
        let cases = injected("oom  memory.oom  a=1,b=2  -  prefork,nginx").unwrap();
        assert_eq!(cases.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["oom/prefork", "oom/nginx"]);
        assert!(cases.iter().all(|it| !it.is_tuned && it.is_meant_by("oom") && !it.is_outside()));
        assert!(matches!(&cases[0].source, Source::Injected { settings, .. } if settings.len() == 2));
        assert!(injected("fault cause").is_none());
    }

    #[test]
    fn a_line_of_an_outside_case_has_its_programs_and_truth() {
        let case = outside("01-nginx\tnginx\tunseen\tnginx,ab\tservice.file_writes | disk.*:log").unwrap();
        assert!(!case.is_tuned && case.is_meant_by("nginx") && case.is_meant_by("outside"));
        assert!(matches!(&case.source, Source::Outside { needs, .. } if needs.len() == 2));
        assert_eq!(case.truth.text(), "service.file_writes or disk.* (log)");
        assert!(outside("01-nginx\tnginx\tperhaps\t-\t-").is_none());
    }

    #[test]
    fn silence_is_right_only_where_nothing_is_wrong() {
        assert_eq!(grade("-", &[]), Grade::Right);
        assert_eq!(grade("-", &[("net.rto", "")]), Grade::Accused);
        assert_eq!(grade("net.rto", &[]), Grade::Silent);
        let case = outside("1-x\tnginx\ttuned\t-\tnet.rto").unwrap();
        let equal = Measured { outcome: "same".to_owned(), causes: Vec::new() };
        assert_eq!(case.grade(&equal), Grade::NoDifference);
        assert_eq!(case.grade(&Measured::failed()), Grade::Failed);
    }

    #[test]
    fn the_first_cause_is_right_or_the_next_two_are() {
        assert_eq!(grade("net.rto", &[("net.rto", "")]), Grade::Right);
        assert_eq!(grade("net.rto", &[("memory.oom", ""), ("net.rto", "")]), Grade::AmongThree);
        assert_eq!(grade("net.rto", &[("memory.oom", "")]), Grade::Missed);
        let pair = Truth::parse("net.rto+memory.oom");
        assert!(pair.is_of_several() && !pair.are_all_among(&named(&[("net.rto", "")]).causes));
        let both = named(&[("net.rto", ""), ("disk.full", ""), ("memory.oom", "")]);
        assert!(pair.are_all_among(&both.causes));
    }

    #[test]
    fn an_alternative_may_want_a_word() {
        let accepted = "cpu.user_saturated:regular,PCRE | disk.*:read-ahead";
        assert_eq!(grade(accepted, &[("cpu.user_saturated", "Regular expressions")]), Grade::Right);
        assert_eq!(grade(accepted, &[("cpu.user_saturated", "libpcre2")]), Grade::Right);
        assert_eq!(grade(accepted, &[("cpu.user_saturated", "libc")]), Grade::Missed);
        assert_eq!(grade(accepted, &[("disk.small", "no read-ahead")]), Grade::Right);
    }

    #[test]
    fn a_report_a_verdict_and_a_row_say_the_same() {
        let causes =
            json!([{"id": "net.rto", "confidence": 0.5, "title": "t", "evidence": [{"metric": "m"}]}]);
        let report = json!({"verdicts": [{"outcome": "slower"}], "causes": causes});
        let measured = Measured::of_report(&report);
        assert_eq!(Measured::of_report(&json!({"outcome": "slower", "causes": causes})), measured);
        assert_eq!(measured.causes[0].texts, ["t", "m"]);
        let row = measured.row("a/b", &[("grade", "right")]);
        assert_eq!(Measured::of_row(&row), Some(("a/b".to_owned(), measured)));
    }
}
