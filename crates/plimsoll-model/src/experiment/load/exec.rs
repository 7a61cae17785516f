//! A program of the user's own as a load, and what it printed.

use std::fmt;

use serde::Deserializer;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};

use super::facts::{FactsType, Join};
use super::{Carrier, LATENCIES, LoadKind, LoadPlace, LoadType, Target};
use crate::effect::word;
use crate::experiment::placeholder;
use crate::experiment::prelude::*;
use crate::reader::{NamedMetric, Reading};

/// Stands for the seconds that the program is to go on.
const SECONDS: &str = "{seconds}";
/// Stands for how many operations the program is to carry out.
const OPERATIONS: &str = "{operations}";
/// So begins what stands for the service that is aimed at.
const TO: &str = "{to";
/// All placeholders of its words.
const PLACEHOLDERS: [&str; 6] = ["to", "to.address", "to.port", "scratch", "seconds", "operations"];

/// A program, and how what it prints is read. It may also be written as the list of its words alone.
///
/// The program runs once in each slice, confined as a service is: as nobody, with the machine's files read-only, in the namespace of its host, where
/// it reaches nothing but the hosts of the experiment. In its words, `{to.address}` and `{to.port}` stand for the service that the load aims at.
/// `{to}` stands for all of its addresses with their ports, joined by commas, and `{scratch}` for a folder that it may write to. A run that ends with
/// another exit status than 0 is a failed operation, and so is one whose output lacks a figure.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExecLoad {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How what it prints is read.
    #[serde(flatten)]
    pub reading: Reading,
    /// How long the load goes on. Where a word has `{seconds}`, the program is given it, in whole seconds and at least 1. Else it is run again and again
    /// until the time is over, and is then ended (SIGTERM, and SIGKILL after 2 s). A run that was ended so counts only where its output can be read.
    pub duration: Option<Span>,
    /// How many operations the program carries out where a word has `{operations}`.
    pub operations: Option<u64>,
    /// Variables of its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for ExecLoad {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            command: Vec<String>,
            #[serde(default)]
            reads: Option<crate::reader::Reader>,
            #[serde(default)]
            metrics: BTreeMap<String, crate::reader::Pick>,
            #[serde(default)]
            duration: Option<Span>,
            #[serde(default)]
            operations: Option<u64>,
            #[serde(default)]
            env: BTreeMap<String, String>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ExecLoad;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a program and its arguments as a list, or a table with `command`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<ExecLoad, A::Error> {
                let command = Vec::deserialize(SeqAccessDeserializer::new(words))?;
                Ok(ExecLoad { command, ..ExecLoad::default() })
            }
            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<ExecLoad, A::Error> {
                let Table { command, reads, metrics, duration, operations, env } =
                    Table::deserialize(MapAccessDeserializer::new(table))?;
                Ok(ExecLoad { command, reading: Reading { reads, metrics }, duration, operations, env })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl ExecLoad {
    /// The time after which the program is not run again, if its arguments do not have it.
    pub fn again_for(&self) -> Option<Span> {
        self.duration.filter(|_| !self.has(SECONDS))
    }

    /// The program's words, with the target and the amount of work in place of their placeholders.
    pub fn words(&self, filled: impl Fn(&str) -> String) -> Vec<String> {
        let seconds = self.duration.map_or(0, |span| span.0.as_nanos().div_ceil(1_000_000_000).max(1));
        let operations = self.operations.unwrap_or(0).to_string();
        let filled_in =
            |word: &String| word.replace(SECONDS, &seconds.to_string()).replace(OPERATIONS, &operations);
        self.command.iter().map(|word| filled(&filled_in(word))).collect()
    }

    fn has(&self, placeholder: &str) -> bool {
        self.command.iter().any(|word| word.contains(placeholder))
    }

    fn in_words(&self) -> String {
        self.command.iter().map(|argument| word(argument)).collect::<Vec<_>>().join(" ")
    }
}

impl LoadType for ExecLoad {
    fn part(&self, place: u32, number: u32) -> LoadKind {
        let operations = self.operations.map(|all| share(all, place, number));
        let duration = self.duration.map(|all| Span(all.0 / number));
        Self { operations, duration, ..self.clone() }.into()
    }

    fn window(&self, operations: u64) -> LoadKind {
        Self { operations: self.operations.map(|_| operations), ..self.clone() }.into()
    }

    fn lasting(&self, duration: Span) -> LoadKind {
        Self { duration: Some(duration), ..self.clone() }.into()
    }

    fn lasts(&self) -> Option<Span> {
        self.duration
    }

    fn usual_metric(&self) -> Metric {
        self.reading.usual().map_or(Metric::MedianMs, |named| Metric::Named(named.into()))
    }

    fn metrics(&self) -> Vec<Metric> {
        [&[Metric::RequestsPerSecond, Metric::CpuUsPerRequest][..], LATENCIES].concat()
    }

    fn named(&self) -> Vec<NamedMetric> {
        self.reading.named()
    }

    fn operations(&self) -> &'static str {
        "runs"
    }

    fn target(&self) -> Target {
        if self.has(TO) { Target::Service } else { Target::Nothing }
    }

    fn carrier(&self) -> Carrier {
        Carrier::Program
    }

    fn check(&self, at: &LoadPlace<'_>) -> Checked {
        if self.command.first().is_none_or(String::is_empty) {
            return Err(problem(at.table(), "the command is empty", "a program and its arguments"));
        }
        if !self.has(TO) && !at.load.to.is_empty() {
            declared(&at.load.to, &at.experiment.services, "service", path!["loads", at.name, "to"])?;
            let expected = "`{to.address}` and `{to.port}`, or `{to}`, among its words, or no `to`";
            return Err(problem(at.table(), "the program has no argument for its target", expected));
        }
        placeholder::check(&self.command, &PLACEHOLDERS, at.table())?;
        for (placeholder, key, given) in [
            (SECONDS, "duration", self.duration.is_some()),
            (OPERATIONS, "operations", self.operations.is_some()),
        ] {
            if self.has(placeholder) && !given {
                let message = format!("nothing says what `{placeholder}` stands for");
                return Err(problem(at.table(), message, format!("`{key}` in the table of `exec`")));
            }
        }
        if let Some(operations) = self.operations {
            in_range(operations, 1, 1_000_000_000_000, at.key("operations"))?;
            if !self.has(OPERATIONS) {
                let expected = "`{operations}` among its words";
                return Err(problem(
                    at.key("operations"),
                    "the program has no argument for the number of operations",
                    expected,
                ));
            }
        }
        if self.duration.is_some_and(|span| span.0.is_zero()) {
            return Err(problem(at.key("duration"), "this is no time at all", "a time such as \"5s\""));
        }
        check_reading(&self.reading, at)
    }

    fn describe(&self, at: &LoadPlace<'_>) -> String {
        let way = if at.load.to.is_empty() { format!("on {}", at.load.from) } else { at.way() };
        let read = match self.reading.named().as_slice() {
            [] => String::new(),
            named => {
                let names: Vec<&str> = named.iter().map(|metric| &*metric.name).collect();
                format!(", which reports {}", names.join(", "))
            }
        };
        let long = self.duration.map_or_else(String::new, |span| format!(", {span}"));
        format!("{} {way}{long}{read}", self.in_words())
    }

    fn effects(&self, at: &LoadPlace<'_>) -> Vec<Effect> {
        let variables = self.env.iter().map(|(name, value)| format!("{}={} ", word(name), word(value)));
        let what = variables.collect::<String>() + &self.in_words();
        let effect = Effect::new(EffectKind::Program, format!("loads.{}.exec", at.name), what);
        vec![effect.on(&at.load.from).run_as(RunAs::Nobody)]
    }
}

/// Figures have names of their own, and each says where it stands.
fn check_reading(reading: &Reading, at: &LoadPlace<'_>) -> Checked {
    let here = path!["loads", at.name];
    if reading.reads.is_some() && !reading.metrics.is_empty() {
        let message = format!("`{}` states twice how its output is read", at.name);
        return Err(problem(here, message, "either `reads` or `metrics`"));
    }
    for (name, pick) in &reading.metrics {
        let begins = |c: char| c.is_ascii_lowercase();
        let goes_on = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(begins) || !name.chars().all(goes_on) {
            let expected = "lower-case letters, digits and `_`, a letter first";
            return Err(problem(here, format!("`{name}` cannot be the name of a figure"), expected));
        }
        if Metric::named(name).is_some() {
            let message = format!("`{name}` is a figure that Plimsoll measures itself");
            return Err(problem(here, message, "another name, such as `rate` or `latency`"));
        }
        if let Err(wrong) = pick.check() {
            return Err(problem(here, format!("the figure `{name}` cannot be read"), wrong.to_string()));
        }
    }
    Ok(())
}

/// Results of a program, run by run. Its requests are runs that ended well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecFacts {
    /// How what it printed is read.
    pub reading: Reading,
    /// The runs, in order.
    pub runs: Vec<ExecRun>,
}

/// One run of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecRun {
    /// How it ended, in words of the system; empty where it ended well.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ended: String,
    /// Text on its standard output.
    pub stdout: String,
    /// The last that it wrote to its standard error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// From its start to its end, in nanoseconds.
    pub elapsed_ns: u64,
}

impl ExecFacts {
    /// A figure by its name: the mean over the runs that ended well and reported it.
    fn mean(&self, name: &str) -> Option<f64> {
        let well = self.runs.iter().filter(|run| run.ended.is_empty());
        let figures =
            well.filter_map(|run| self.reading.read(&run.stdout, &run.stderr).ok()?.get(name).copied());
        let figures: Vec<f64> = figures.collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    }
}

impl FactsType for ExecFacts {
    fn figure(&self, metric: Metric, _seconds: f64) -> Option<f64> {
        matches!(metric, Metric::Named(_)).then(|| self.mean(metric.name()))?
    }

    fn rate(&self) -> Option<Metric> {
        Some(self.reading.usual().map_or(Metric::RequestsPerSecond, |named| Metric::Named(named.into())))
    }

    /// Only the program's author knows whether it is the measured object, or measures.
    fn measures_its_own_work(&self) -> bool {
        true
    }
}

impl Join for ExecFacts {
    fn join(&mut self, other: &Self) {
        self.runs.extend(other.runs.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::parse;
    use crate::observation::LoadResult;

    const FILE: &str = r#"
question = "How fast?"
[hosts.client]
[hosts.server]
[[links]]
between = ["client", "server"]
[services.store]
on = "server"
port = 6379
exec = ["redis-server", "--port", "{port}"]
[loads.set]
from = "client"
to = "store"
EXEC
[[phases]]
name = "measured"
measure = "set"
CLAIM
"#;
    const ARRAY: &str = r#"exec = ["redis-benchmark", "-h", "{to.address}", "-p", "{to.port}", "--csv"]"#;

    fn file(exec: &str, claim: &str) -> String {
        FILE.replace("EXEC", exec).replace("CLAIM", claim)
    }

    fn refused(exec: &str, claim: &str) -> (String, String, String) {
        let error = parse(&file(exec, claim), &[]).unwrap_err();
        let place = error.span.clone().map_or(String::new(), |span| error.text[span].to_owned());
        (error.message, error.expected.unwrap_or_default() + &error.nearest.unwrap_or_default(), place)
    }

    #[test]
    fn a_list_of_words_with_a_reader_beside_it_is_a_load_whose_figures_claims_may_name() {
        let claim = "[[claims]]\nlimit = { metric = \"latency_p99\", below = \"5ms\" }";
        let experiment = parse(&file(&format!("{ARRAY}\nreads = \"redis-benchmark\""), claim), &[]).unwrap();
        let kind = &experiment.loads["set"].kind;
        assert_eq!((kind.usual_metric().name(), kind.usual_metric().unit().name()), ("rate", "per second"));
        let bound = experiment.claims[0].limit().unwrap().bound().unwrap();
        assert!(bound.metric.lower_is_better(), "the load knows what is better, and the claim learns it");
        assert_eq!(bound.value(), Ok(5.0));
        // As it is stored with a run, and read again.
        let stored = serde_json::to_value(&experiment).unwrap();
        assert_eq!(serde_json::from_value::<crate::experiment::Experiment>(stored).unwrap(), experiment);
    }

    #[test]
    fn figures_that_the_load_does_not_have_are_refused_with_the_nearest() {
        let exec = format!("{ARRAY}\nmetrics = {{ transactions = {{ regex = \"([0-9]+) done\" }} }}");
        let claim = |metric| format!("[[claims]]\nlimit = {{ metric = \"{metric}\", above = 5 }}");
        let (message, expected, place) = refused(&exec, &claim("transaction"));
        assert!(message.contains("has no `transaction`"), "{message}");
        assert!(expected.ends_with("transactions") && expected.contains("`mean_ms`"), "{expected}");
        assert!(place.contains("transaction"), "{place}");
        assert!(parse(&file(&exec, &claim("transactions")), &[]).is_ok());
        let http = "http = { duration = \"1s\" }";
        assert!(refused(http, &claim("requests_per_secnd")).1.ends_with("requests_per_second"));
        assert!(refused(&format!("{http}\nreads = \"wrk\""), "").0.contains("only output of `exec` is read"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (exec, expected) in [
            ("exec = []", "the command is empty"),
            ("exec = [\"true\"]", "no argument for its target"),
            ("exec = [\"x\", \"{to}\", \"{seconds}\"]", "nothing says what `{seconds}` stands for"),
            (
                "exec = { command = [\"x\", \"{to}\"], operations = 5 }",
                "no argument for the number of operations",
            ),
            ("exec = { command = [\"x\", \"{to}\"], duration = \"0s\" }", "no time at all"),
            ("exec = [\"x\", \"{to}\"]\nmetrics = { mean_ms = { csv = \"a\" } }", "measures itself"),
            ("exec = [\"x\", \"{to}\"]\nmetrics = { Rate = { csv = \"a\" } }", "cannot be the name"),
            ("exec = [\"x\", \"{to}\"]\nmetrics = { rate = { regex = \"a\" } }", "cannot be read"),
            (
                "exec = [\"x\", \"{to}\"]\nreads = \"wrk\"\nmetrics = { rate = { csv = \"a\" } }",
                "states twice",
            ),
        ] {
            let (message, ..) = refused(exec, "");
            assert!(message.contains(expected), "{exec}: {message}");
        }
    }

    #[test]
    fn a_part_is_given_its_share_of_seconds_and_operations() {
        let command = ["x", "-t{seconds}", "{operations}", "{to.port}"].map(str::to_owned).to_vec();
        let load =
            ExecLoad { command, duration: Some(Span::secs(5)), operations: Some(100), ..ExecLoad::default() };
        let LoadKind::Exec(part) = load.part(0, 4) else { panic!("a part of another kind") };
        assert_eq!(part.words(|word| word.replace("{to.port}", "80")), ["x", "-t2", "25", "80"]);
        assert_eq!(part.again_for(), None);
    }

    #[test]
    fn named_figures_are_means_over_the_runs_that_ended_well() {
        let metrics = [("rate".to_owned(), serde_json::from_str(r#"{"regex": "at ([0-9]+)"}"#).unwrap())];
        let run = |stdout: &str, ended: &str| ExecRun {
            stdout: stdout.into(),
            ended: ended.into(),
            ..ExecRun::default()
        };
        let facts =
            |runs| ExecFacts { reading: Reading { reads: None, metrics: metrics.clone().into() }, runs };
        let result = |runs| LoadResult { facts: Some(facts(runs).into()), ..LoadResult::default() };
        let rate = facts(Vec::new()).rate().unwrap();
        let all = crate::observation::pooled([
            &result(vec![run("at 10", ""), run("at 90", "exit status: 1")]),
            &result(vec![run("at 20", "")]),
        ]);
        assert_eq!(rate.of(&all.unwrap()), Some(15.0));
        assert_eq!(rate.of(&result(vec![run("nothing", "")])), None);
    }
}
