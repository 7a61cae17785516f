//! Results of a self-test, for people and programs.

use std::io::{self, Write};
use std::time::Duration;

use plimsoll_report::escape::{markdown as md, terminal};
use serde_json::{Value, json};

use super::cases::{Case, ExpectedCause, Source};
use super::machine::{Limit, Machine};
use super::score::{Attempt, Mark, Tried};
use super::summary::Summary;
use crate::args::SelftestFormat;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// The name and version of the JSON form. The number rises when a field changes its meaning or goes away.
const SELFTEST_SCHEMA: &str = "plimsoll.selftest/1";

/// The titles of the table.
const TITLES: [&str; 6] = ["case", "", "truth", "said", "", "s"];

/// The results of a self-test.
pub(super) struct Report<'a> {
    tries: &'a [Tried],
    summary: Summary,
    limits: Vec<Limit>,
    took: Duration,
}

impl<'a> Report<'a> {
    pub(super) fn new(machine: &Machine, tries: &'a [Tried], took: Duration) -> Self {
        Self { tries, summary: Summary::of(tries), limits: machine.cannot_tell(tries), took }
    }

    pub(super) fn exit(&self) -> Exit {
        self.summary.exit()
    }

    pub(super) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        output::table(out, "", TITLES, self.rows())?;
        for (title, lines) in [
            ("Why not right", self.wrong()),
            ("Left undecided", self.undecided()),
            ("Not tried", self.not_tried()),
        ] {
            if !lines.is_empty() {
                writeln!(out, "\n{title}")?;
                lines.iter().try_for_each(|line| writeln!(out, "  {}", terminal(line)))?;
            }
        }
        writeln!(out)?;
        self.summary.sentences().iter().try_for_each(|sentence| writeln!(out, "{sentence}"))?;
        writeln!(out, "It took {:.0} s.", self.took.as_secs_f64())?;
        writeln!(out, "\nWhat this machine cannot tell")?;
        if self.limits.is_empty() {
            writeln!(out, "  no known gaps")?;
        }
        self.limits.iter().try_for_each(|limit| {
            writeln!(out, "  {}", terminal(&limit.what))?;
            writeln!(out, "    touches: {}", terminal(&limit.touches))
        })
    }

    pub(super) fn markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "### plimsoll selftest\n")?;
        writeln!(out, "| case | | truth | said | | s |\n| --- | --- | --- | --- | --- | --: |")?;
        for row in self.rows() {
            let cells: Vec<String> = row.iter().map(|cell| md(cell)).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
        writeln!(out)?;
        for line in self.wrong().iter().chain(&self.undecided()).chain(&self.not_tried()) {
            writeln!(out, "- {}", md(line))?;
        }
        writeln!(
            out,
            "\n{} It took {:.0} s.\n",
            self.summary.sentences().join(" "),
            self.took.as_secs_f64()
        )?;
        writeln!(out, "What this machine cannot tell:\n")?;
        if self.limits.is_empty() {
            writeln!(out, "- no known gaps")?;
        }
        self.limits
            .iter()
            .try_for_each(|limit| writeln!(out, "- {} (touches: {})", md(&limit.what), md(&limit.touches)))
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "schema": SELFTEST_SCHEMA,
            "version": env!("CARGO_PKG_VERSION"),
            "took_s": self.took.as_secs_f64(),
            "tries": self.tries.iter().map(try_json).collect::<Vec<_>>(),
            "summary": self.summary,
            "cannot_tell": self.limits,
        })
    }

    fn rows(&self) -> Vec<[String; 6]> {
        let several = self.tries.iter().any(|tried| tried.round > 1);
        let row = |tried: &Tried| {
            let Tried { case, round, took_s, attempt } = tried;
            let name = if several { format!("{} ({round})", case.name) } else { case.name.to_owned() };
            let (said, mark, took) = match attempt {
                Attempt::Judged { said, mark } => {
                    (said.text(&case.truth), mark.text(), format!("{took_s:.0}"))
                }
                Attempt::NotTried(_) => (String::new(), "not tried".to_owned(), String::new()),
            };
            [name, case.truth.kind.name().to_owned(), case.truth.text(), said, mark, took]
        };
        self.tries.iter().map(row).collect()
    }

    fn wrong(&self) -> Vec<String> {
        self.reasons(|mark| matches!(mark, Mark::Wrong(_)))
    }

    fn undecided(&self) -> Vec<String> {
        self.reasons(|mark| mark == Mark::Undecided)
    }

    /// The runs' own reasons, of the tries with such a mark.
    fn reasons(&self, wanted: impl Fn(Mark) -> bool) -> Vec<String> {
        let line = |tried: &Tried| match &tried.attempt {
            Attempt::Judged { said, mark } if wanted(*mark) => {
                Some(format!("{}: {}", tried.case.name, said.reason))
            }
            _ => None,
        };
        self.tries.iter().filter_map(line).collect()
    }

    fn not_tried(&self) -> Vec<String> {
        let line = |tried: &Tried| match &tried.attempt {
            Attempt::NotTried(why) => Some(format!("{}: {why}", tried.case.name)),
            Attempt::Judged { .. } => None,
        };
        self.tries.iter().filter_map(line).collect()
    }
}

/// The cases, without trying them.
pub(super) fn list(format: SelftestFormat, cases: &[&Case]) -> Result<(), Failure> {
    let row = |case: &&Case| {
        let (kind, needs) = (case.truth.kind.name(), case.needs.name().unwrap_or_default());
        [case.name, kind, &case.truth.text(), needs, case.question].map(str::to_owned)
    };
    let mut rows = cases.iter().map(row);
    match format {
        SelftestFormat::Json => {
            let cases: Vec<Value> = cases.iter().map(|case| case_json(case)).collect();
            output::json(&json!({ "schema": SELFTEST_SCHEMA, "cases": cases }))
        }
        SelftestFormat::Text => {
            output::text(|out| output::table(out, "", ["case", "", "truth", "needs", "question"], rows))
        }
        SelftestFormat::Markdown => output::document(|out| {
            writeln!(out, "| case | | truth | needs | question |\n| --- | --- | --- | --- | --- |")?;
            rows.try_for_each(|[name, kind, truth, needs, question]| {
                writeln!(out, "| {name} | {kind} | {truth} | {needs} | {} |", md(&question))
            })
        }),
    }
}

fn case_json(case: &Case) -> Value {
    let (cause, lives_in) = match case.truth.cause {
        ExpectedCause::Cause(cause) => (Some(cause.id()), None),
        ExpectedCause::LivesIn(place) => (None, Some(place)),
        ExpectedCause::NoCause | ExpectedCause::Any => (None, None),
    };
    json!({
        "name": case.name,
        "question": case.question,
        "experiment": match case.experiment { Source::Shipped(name) => Some(name), Source::Own(_) => None },
        "truth": {
            "kind": case.truth.kind.name(),
            "outcome": case.truth.outcome,
            "cause": cause,
            "state_lives_in": lives_in,
            "no_cause": matches!(case.truth.cause, ExpectedCause::NoCause),
        },
        "needs": case.needs.name(),
    })
}

fn try_json(tried: &Tried) -> Value {
    let mut found = json!({ "case": case_json(tried.case), "round": tried.round, "took_s": tried.took_s });
    match &tried.attempt {
        Attempt::Judged { said, mark } => {
            found["mark"] = mark.name().into();
            found["said"] = json!({
                "run": said.run,
                "outcome": said.outcome,
                "reason": said.reason,
                "causes": said.causes,
                "state_lives_in": said.lives_in,
                "notes": said.notes,
            });
        }
        Attempt::NotTried(why) => {
            found["mark"] = "not_tried".into();
            found["why_not"] = why.as_str().into();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cause::CauseId;
    use plimsoll_model::verdict::Outcome;

    use super::*;
    use crate::command::selftest::cases::{Kind, Need, Truth};
    use crate::command::selftest::machine::tests::able;
    use crate::command::selftest::score::{mark, tests::said};
    use crate::command::selftest::summary::tests::{not_tried, tried};

    /// Text of the tries below.
    const TEXT: &str = "\
case                  truth                        said                                          s
few-ports   fault     slower, net.time_wait_reuse  slower, net.time_wait_reuse  right            12
many-ports  innocent  same, no cause               slower                       WRONG: accused   12
two-writes  fault     slower, net.delayed_ack      slower                       WRONG: no cause  12
long-queue  innocent  same, no cause               undecided                    undecided        12
one-mode    innocent  one mode, no cause                                        not tried

Why not right
  many-ports: made up
  two-writes: made up

Left undecided
  long-queue: made up

Not tried
  one-mode: needs root

Right in 1 of 3 decided cases (95 % interval 1 to 91 %, Clopper and Pearson's).
Of 2 faults, 0 missed, 1 detected without a cause. Of 1 innocent, 1 accused.
Undecided: 1. Not tried, or not finished: 1.
It took 60 s.

What this machine cannot tell
  no known gaps
";

    fn tries() -> Vec<Tried> {
        vec![
            tried("few-ports", Outcome::Slower, &[CauseId::NetTimeWaitReuse]),
            tried("many-ports", Outcome::Slower, &[]),
            tried("two-writes", Outcome::Slower, &[]),
            tried("long-queue", Outcome::Undecided, &[]),
            not_tried("one-mode", "needs root"),
        ]
    }

    fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_says_what_is_wrong_and_the_sentences_why() {
        let tries = tries();
        let report = Report::new(&able(), &tries, Duration::from_secs(60));
        assert_eq!(report.exit(), Exit::Fails);
        assert_eq!(written(|out| report.text(out)), TEXT);
    }

    #[test]
    fn a_truth_that_is_not_so_makes_what_was_said_wrong_and_fails() {
        // Few ports are slow, and this has it that they are not.
        static BELIED: Case = Case {
            name: "belied",
            question: "Is a lie found out?",
            experiment: Source::Shipped("web/port-reuse-matrix"),
            words: &[],
            truth: Truth { kind: Kind::Innocent, outcome: Outcome::Same, cause: ExpectedCause::NoCause },
            needs: Need::Nothing,
        };
        let said = said(Outcome::Slower, &[CauseId::NetTimeWaitReuse]);
        let mark = mark(&BELIED.truth, &said);
        let tries = [Tried { case: &BELIED, round: 1, took_s: 1.0, attempt: Attempt::Judged { said, mark } }];
        let report = Report::new(&able(), &tries, Duration::ZERO);
        assert_eq!(report.exit(), Exit::Fails);
        let output = written(|out| report.text(out));
        assert!(output.contains("same, no cause  slower, net.time_wait_reuse  WRONG: accused"), "{output}");
    }

    #[test]
    fn markdown_has_a_row_for_each_try_and_nothing_that_it_would_read_as_its_own() {
        let mut tries = tries();
        tries[4].attempt = Attempt::NotTried("a | pipe".into());
        let output = written(|out| Report::new(&able(), &tries, Duration::ZERO).markdown(out));
        assert_eq!(
            output.lines().filter(|line| line.starts_with("| ") && line.ends_with(" |")).count(),
            2 + tries.len()
        );
        assert!(output.contains("WRONG: accused") && !output.contains("a | pipe"), "{output}");
    }

    #[test]
    fn programs_get_the_marks_the_truth_and_what_was_said() {
        let tries = tries();
        let found = Report::new(&able(), &tries, Duration::from_secs(60)).json();
        assert_eq!(found["schema"], "plimsoll.selftest/1");
        let marks: Vec<&str> =
            found["tries"].as_array().unwrap().iter().map(|of| of["mark"].as_str().unwrap()).collect();
        assert_eq!(marks, ["right", "accused", "no_cause", "undecided", "not_tried"]);
        assert_eq!(found["tries"][0]["case"]["truth"]["cause"], "net.time_wait_reuse");
        assert_eq!(found["tries"][2]["said"]["outcome"], "slower");
        assert_eq!(found["summary"]["accused"], 1);
    }
}
