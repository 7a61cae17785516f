//! Imported figures before the judge: the same tests as those of `plimsoll judge`.

use plimsoll_judge::json::{self, Test};
use plimsoll_model::numbers::{Numbers, Side};
use plimsoll_model::verdict::Verdict;
use serde_json::{Map, Value, json};

use super::Imported;
use super::sides::{self, Chosen, SideMedians, Sides};
use crate::args::Reading;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, own_fields};

/// A verdict, and what it rests on.
pub(crate) struct Judged {
    test: Test,
    request: Value,
    answer: Value,
    /// Names of the sides, of a test that has two.
    titles: Option<[String; 2]>,
    beside: Vec<SideMedians>,
}

impl Judged {
    /// Numbers of the chart, by the names that the sides have here.
    pub(crate) fn numbers(&self) -> Option<Numbers> {
        let numbers = json::numbers_of_line(self.test, &self.request.to_string()).ok()?;
        Some(match (numbers, &self.titles) {
            (Numbers::Sides(sides), Some(titles)) => {
                let named = sides.into_iter().zip(titles);
                Numbers::Sides(named.map(|(side, name)| Side { name: name.clone(), ..side }).collect())
            }
            (numbers, _) => numbers,
        })
    }

    /// Fields of this test alone.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        own_fields::facts(&self.answer)
    }

    /// The medians of both sides of everything that both have, where there are sides.
    pub(crate) fn medians(&self) -> Option<(&[String; 2], &[SideMedians])> {
        self.titles.as_ref().map(|titles| (titles, self.beside.as_slice()))
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        serde_json::from_value(self.answer.clone()).ok()
    }

    pub(crate) fn exit(&self) -> Exit {
        Exit::of(self.verdict().as_slice())
    }

    pub(crate) fn json(&self) -> Value {
        let mut document = json!({ "verdict": self.answer });
        if let Some(titles) = &self.titles {
            document["sides"] = json!(titles);
            document["medians"] = json!(self.beside);
        }
        document
    }
}

/// Judges the figures of the files.
pub(crate) fn judge(args: &Reading, test: &str, files: &[Imported]) -> Result<Judged, Failure> {
    let test = Test::from_name(test).ok_or_else(|| {
        Failure::Usage(format!(
            "there is no test `{test}`: expected changes, compare, factors, growth, modes, recovery or scaling"
        ))
    })?;
    let request = match test {
        Test::Compare | Test::Recovery => return of_sides(args, test, sides::two(args, files)?, None),
        Test::Modes | Test::Changes => of_one(args, test, files)?,
        Test::Factors => of_factors(args, files)?,
        Test::Growth | Test::Scaling => of_curve(args, test, files)?,
        Test::LoadCurve | Test::Loss => {
            return Err(Failure::Usage(format!(
                "`{}` needs rows of several figures, which imports do not have: see `plimsoll judge {0}`",
                test.name()
            )));
        }
    };
    answer(test, request, None, Vec::new())
}

/// Judges one side against the other; with another chance to call a difference that is none than the test has, where it is given.
pub(crate) fn of_sides(
    args: &Reading,
    test: Test,
    sides: Sides,
    alpha: Option<f64>,
) -> Result<Judged, Failure> {
    let mut request = of_two(args, test, &sides)?;
    if let Some(alpha) = alpha {
        request["alpha"] = alpha.into();
    }
    answer(test, request, Some(sides.titles), sides.beside)
}

fn answer(
    test: Test,
    request: Value,
    titles: Option<[String; 2]>,
    beside: Vec<SideMedians>,
) -> Result<Judged, Failure> {
    let answer =
        json::judge_line(test, &request.to_string()).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Judged { test, request, answer, titles, beside })
}

/// A table of two factors in a mail, as input of `judge factors`; `None` if there is none.
pub(crate) fn cross_table(file: &Imported) -> Option<String> {
    of_factors(&Reading::default(), std::slice::from_ref(file)).ok().map(|request| request.to_string())
}

/// The fields that several tests take.
fn common(args: &Reading, metric: &str) -> Map<String, Value> {
    let mut request = Map::new();
    request.insert("metric".into(), metric.into());
    if let Some(margin) = args.margin {
        request.insert("margin".into(), margin.into());
    }
    request
}

/// Two sides: A and B, or the baseline and what came after.
fn of_two(args: &Reading, test: Test, sides: &Sides) -> Result<Value, Failure> {
    let [a, b] = &sides.chosen;
    for (side, title) in sides.chosen.iter().zip(&sides.titles) {
        if side.values.is_empty() {
            return Err(Failure::Usage(format!("{title}: there is no `{}` on this side", side.name)));
        }
    }
    let mut request = common(args, &a.name);
    request.insert("lower_is_better".into(), sides::lower_is_better(args, a)?.into());
    if test == Test::Compare {
        request.insert("a".into(), json!(a.values));
        request.insert("b".into(), json!(b.values));
        request.insert("unit".into(), a.unit.as_str().into());
        // The order of measurement is unknown: values do not belong together by their place.
        request.insert("paired".into(), false.into());
    } else {
        request.insert("treatment".into(), json!({ "baseline": a.values, "after": b.values }));
    }
    Ok(Value::Object(request))
}

/// All figures of one thing, over all files in their order.
fn of_one(args: &Reading, test: Test, files: &[Imported]) -> Result<Value, Failure> {
    let mut all: Option<Chosen> = None;
    for file in files {
        let series = sides::choose_one(args, file)?;
        match &mut all {
            None => {
                all = Some(Chosen {
                    name: series.name(),
                    unit: series.unit.clone(),
                    better: series.better,
                    values: series.values(),
                });
            }
            Some(all) if all.unit == series.unit => all.values.extend(series.values()),
            Some(all) => {
                return Err(Failure::Usage(format!(
                    "{}: `{}` is in {} here and in {} before",
                    file.name,
                    series.name(),
                    series.unit,
                    all.unit
                )));
            }
        }
    }
    let all = all.ok_or_else(|| Failure::Usage("there is no file to judge".into()))?;
    let mut request = common(args, &all.name);
    request.insert(if test == Test::Modes { "values" } else { "series" }.into(), json!(all.values));
    Ok(Value::Object(request))
}

/// A row for each figure: its labels are the levels of the factors, and the file where there are several. Where each cell has as many values, the first
/// of all cells are one block, the second another, and so on: which belong together is not known, and values that were measured independently may be
/// put together in any way.
fn of_factors(args: &Reading, files: &[Imported]) -> Result<Value, Failure> {
    let mut cells: Vec<(Map<String, Value>, Vec<f64>)> = Vec::new();
    let mut metric = String::new();
    for file in files {
        for series in sides::choose(args, file)? {
            metric.clone_from(&series.metric);
            let labels =
                series.labels.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into()));
            let several = (files.len() > 1).then(|| ("file".to_owned(), file.name.as_str().into()));
            cells.push((labels.chain(several).collect(), series.values()));
        }
    }
    let least = cells.iter().map(|(_, values)| values.len()).min().unwrap_or(0);
    let blocks = least > 1 && cells.iter().all(|(_, values)| values.len() == least);
    let rows = cells.iter().flat_map(|(levels, values)| {
        values.iter().enumerate().map(move |(index, value)| {
            let mut row = levels.clone();
            row.insert("value".into(), (*value).into());
            if blocks {
                row.insert("block".into(), (index + 1).to_string().into());
            }
            Value::Object(row)
        })
    });
    let mut request = common(args, &metric);
    request.insert("rows".into(), rows.collect());
    Ok(Value::Object(request))
}

/// A point for each figure: its number of workers is the only label that is a number.
fn of_curve(args: &Reading, test: Test, files: &[Imported]) -> Result<Value, Failure> {
    let mut rows = Vec::new();
    let mut metric = String::new();
    for file in files {
        for series in sides::choose(args, file)? {
            metric = series.metric.clone();
            let numbers: Vec<f64> =
                series.labels.iter().filter_map(|(_, value)| value.parse().ok()).collect();
            let [n] = numbers.as_slice() else {
                return Err(Failure::Usage(format!(
                    "{}: `{}` has {} labels that are numbers, and the number of workers must be one",
                    file.name,
                    series.name(),
                    numbers.len()
                )));
            };
            let name = if test == Test::Growth { "time" } else { "throughput" };
            rows.extend(series.values().into_iter().map(|value| json!({ "n": n, name: value })));
        }
    }
    let mut request = common(args, &metric);
    request.remove("margin");
    request.insert("rows".into(), rows.into());
    Ok(Value::Object(request))
}

/// Prints the verdict and the medians of all figures of both sides.
pub(crate) fn print(judged: &Judged) -> Result<(), Failure> {
    if let Some(verdict) = judged.verdict() {
        output::text(|out| writeln!(out))?;
        output::styled(|out, options| plimsoll_report::text::verdict(out, &verdict, options))?;
    }
    output::text(|out| {
        own_fields::text(out, &judged.answer)?;
        let Some([a, b]) = &judged.titles else { return Ok(()) };
        writeln!(out, "\nMedians: {a} -> {b}")?;
        super::text::beside(out, &judged.beside)
    })
}
