//! Errors of an experiment with their places, and checks of values of any kind.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::{Bound, RangeBounds};

use super::Experiment;
use super::kinds::SAYS_NOTHING;

/// A path into the file, such as `path!["services", name, "on"]`.
macro_rules! path {
    ($($part:expr),* $(,)?) => { [$(Part::from($part)),*] };
}

/// The candidate that is most like `given`, if any is like it at all.
pub fn nearest<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    let given = given.to_lowercase();
    let likeness = |candidate: &str| strsim::jaro_winkler(&given, &candidate.to_lowercase());
    candidates
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}

/// A part of a path into the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The value of a key.
    Key(String),
    /// An element of a list.
    Index(usize),
}

/// A senseless setting of the experiment, and the path to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub(super) path: Vec<Part>,
    pub(super) message: String,
    pub(super) expected: Option<String>,
    pub(super) nearest: Option<String>,
}

pub(in crate::experiment) type Checked = Result<(), Problem>;

impl From<&str> for Part {
    fn from(key: &str) -> Self {
        Self::Key(key.into())
    }
}

impl From<&String> for Part {
    fn from(key: &String) -> Self {
        Self::Key(key.clone())
    }
}

impl From<usize> for Part {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A problem with what stands at a path.
pub(in crate::experiment) fn problem(
    path: impl Into<Vec<Part>>,
    message: impl Into<String>,
    expected: impl Into<String>,
) -> Problem {
    Problem { path: path.into(), message: message.into(), expected: Some(expected.into()), nearest: None }
}

pub(in crate::experiment) fn declared<T>(
    name: &str,
    known: &BTreeMap<String, T>,
    what: &str,
    path: impl Into<Vec<Part>>,
) -> Checked {
    if known.contains_key(name) {
        return Ok(());
    }
    let names = known.keys().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let expected =
        if names.is_empty() { format!("a {what}, but none is declared") } else { format!("one of {names}") };
    let nearest = nearest(name, known.keys().map(String::as_str));
    Err(Problem { nearest, ..problem(path, format!("there is no {what} `{name}`"), expected) })
}

pub(in crate::experiment) fn in_range(
    value: u64,
    least: u64,
    most: u64,
    path: impl Into<Vec<Part>>,
) -> Checked {
    within(value, least..=most, path, format!("a number from {least} to {most}"))
}

/// A value lies in a range, which `expected` says in words.
pub(in crate::experiment) fn within<T: Copy + PartialOrd + Display>(
    value: T,
    range: impl RangeBounds<T>,
    path: impl Into<Vec<Part>>,
    expected: impl Into<String>,
) -> Checked {
    if range.contains(&value) {
        return Ok(());
    }
    Err(problem(path, format!("{value} is out of range"), expected))
}

/// More than nothing, and at most so much.
pub(in crate::experiment) fn up_to<T: Default>(most: T) -> impl RangeBounds<T> {
    (Bound::Excluded(T::default()), Bound::Included(most))
}

/// Exactly one of the named choices is made.
pub(in crate::experiment) fn one_of(
    choices: &[(&str, bool)],
    what: &str,
    path: impl Into<Vec<Part>>,
) -> Checked {
    let made: Vec<&str> = choices.iter().filter(|(_, made)| *made).map(|(name, _)| *name).collect();
    let all = choices.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match made.as_slice() {
        [_] => Ok(()),
        [] => Err(problem(path, format!("{what} {SAYS_NOTHING}"), format!("exactly one of {all}"))),
        several => Err(problem(
            path,
            format!("{what} is {} at once", several.join(" and ")),
            format!("exactly one of {all}"),
        )),
    }
}

pub(in crate::experiment) fn margin(margin: f64, path: impl Into<Vec<Part>>) -> Checked {
    if margin > 0.0 && margin < 1.0 {
        return Ok(());
    }
    Err(problem(path, "margin must be between 0 and 1", "a share of more than 0 and less than 1"))
}

/// The name of a phase that measures.
pub(in crate::experiment) fn measured(
    name: &str,
    names: &BTreeMap<String, Option<&str>>,
    path: impl Into<Vec<Part>>,
) -> Checked {
    let measuring: BTreeMap<String, ()> =
        names.iter().filter(|(_, load)| load.is_some()).map(|(name, _)| (name.clone(), ())).collect();
    declared(name, &measuring, "measured phase", path)
}

/// The name of a service that keeps a list of the mail that it has taken.
pub(in crate::experiment) fn mail_sink(
    experiment: &Experiment,
    name: &str,
    path: impl Into<Vec<Part>>,
) -> Checked {
    let sinks: BTreeMap<String, ()> = experiment
        .services
        .iter()
        .filter(|(_, service)| service.kind.smtp_sink().is_some())
        .map(|(name, _)| (name.clone(), ()))
        .collect();
    declared(name, &sinks, "sink for mail", path)
}

/// A cell has one of its levels for each factor, and nothing else.
pub(in crate::experiment) fn check_cell(
    experiment: &Experiment,
    cell: &BTreeMap<String, serde_json::Value>,
    at: &[Part],
) -> Checked {
    for (name, level) in cell {
        let here = [at, &path![name]].concat();
        declared(name, &experiment.factors, "factor", here.clone())?;
        let levels = &experiment.factors[name].levels;
        if !levels.contains(level) {
            let known = levels.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(problem(here, format!("`{name}` has no level {level}"), format!("one of {known}")));
        }
    }
    match experiment.factors.keys().find(|name| !cell.contains_key(*name)) {
        Some(missing) => Err(problem(
            at.to_vec(),
            format!("the cell does not say the level of `{missing}`"),
            "a level for every factor",
        )),
        None => Ok(()),
    }
}
