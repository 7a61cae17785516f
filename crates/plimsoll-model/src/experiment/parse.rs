//! From text to [`Experiment`], with the place of every error.

pub(crate) mod limits;
mod wrong;

use std::ops::Range;

use toml_edit::{DocumentMut, Item, Value};

use super::problem::{Part, Problem, nearest};
use super::{Experiment, Host, RunOptions, validate};

/// An experiment file that cannot be used: what is wrong, where, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FileError {
    /// The error.
    pub message: String,
    /// Expected input.
    pub expected: Option<String>,
    /// The valid name that is nearest to the one given.
    pub nearest: Option<String>,
    /// Where it stands, in bytes of `text`.
    pub span: Option<Range<usize>>,
    /// The text that was read: the file, with any overrides applied.
    pub text: Box<str>,
    /// Next error, further down in the file.
    pub next: Option<Box<FileError>>,
}

/// Whether the table at this path may be missing in a file, and one of its settings be set all the same: every one of them has a default.
fn may_be_left_out(path: &[String]) -> bool {
    match path {
        [table] => matches!(table.as_str(), "run" | "capture"),
        [hosts, _, table] => hosts == "hosts" && table == "sysctls",
        _ => false,
    }
}

/// A setting that replaces the one in the file: a path, and a value.
#[derive(Clone, Debug)]
pub struct Override {
    path: Vec<String>,
    value: Value,
}

impl Override {
    /// A setting from a path such as `loads.flood.http.connections` and a JSON value.
    ///
    /// # Errors
    /// When the path is empty or the value has no form in TOML (null).
    pub fn new(path: &str, value: &serde_json::Value) -> Result<Self, FileError> {
        let value = toml_of(value).ok_or_else(|| {
            FileError::plain(
                format!("`{path}` cannot be set to null"),
                "a number, a text, true or false, or a list of them",
            )
        })?;
        Ok(Self { path: path_of(path)?, value })
    }

    /// The path, dotted.
    pub fn path(&self) -> String {
        self.path.join(".")
    }

    /// Puts the value at its place in the document.
    fn apply(&self, document: &mut DocumentMut) -> Result<(), FileError> {
        let (last, parents) = self.path.split_last().expect("a path has at least one part");
        let mut item = document.as_item_mut();
        for (depth, part) in parents.iter().enumerate() {
            if may_be_left_out(&parents[..=depth])
                && let Some(table) = item.as_table_like_mut()
            {
                table.entry(part).or_insert_with(toml_edit::table);
            }
            item = child(item, part).ok_or_else(|| {
                FileError::plain(
                    format!("cannot set `{}`: there is no `{}`", self.path(), self.path[..=depth].join(".")),
                    "a path of names, each inside the one before it; a phase goes by its name or its number from 0",
                )
            })?;
        }
        if let Some(list) = item.as_array_mut() {
            let place = last.parse::<usize>().ok().filter(|&n| n < list.len());
            let place = place.ok_or_else(|| {
                FileError::plain(
                    format!("cannot set `{}`: the list has {} elements", self.path(), list.len()),
                    "an index from 0",
                )
            })?;
            list.replace(place, self.value.clone());
            return Ok(());
        }
        let table = item.as_table_like_mut().ok_or_else(|| {
            FileError::plain(
                format!("cannot set `{}`: `{}` is a single value", self.path(), parents.join(".")),
                "a path to a setting",
            )
        })?;
        table.insert(last, Item::Value(self.value.clone()));
        Ok(())
    }
}

/// Splits a dotted path; a part may stand in double quotes where it has dots of its own (`hosts.a.sysctls."net.ipv4.tcp_tw_reuse"`).
fn path_of(path: &str) -> Result<Vec<String>, FileError> {
    let keys = toml_edit::Key::parse(path).map_err(|error| {
        FileError::plain(
            format!("`{path}` is not a path: {}", error.message()),
            "names joined by dots, such as loads.flood.http.connections",
        )
    })?;
    Ok(keys.into_iter().map(|key| key.get().to_owned()).collect())
}

/// The item of this name or index inside `item`; an element of a list of tables goes by its `name`, too.
fn child<'i>(item: &'i mut Item, part: &str) -> Option<&'i mut Item> {
    if let Some(list) = item.as_array_mut() {
        let name = |value: &Value| value.as_inline_table()?.get("name")?.as_str().map(ToOwned::to_owned);
        let by_name = list.iter().position(|value| name(value).as_deref() == Some(part));
        let index = by_name.or_else(|| part.parse().ok())?;
        return item.get_mut(index);
    }
    if let Some(tables) = item.as_array_of_tables_mut() {
        let by_name = tables.iter().position(|table| table.get("name").and_then(Item::as_str) == Some(part));
        let index = by_name.or_else(|| part.parse().ok())?;
        // An element of such a list is a table and no item of its own, so its own children are what can be named further.
        return item.get_mut(index);
    }
    item.as_table_like_mut()?.get_mut(part)
}

fn toml_of(value: &serde_json::Value) -> Option<Value> {
    Some(match value {
        serde_json::Value::Null => return None,
        serde_json::Value::Bool(b) => (*b).into(),
        serde_json::Value::Number(n) => match n.as_i64() {
            Some(n) => n.into(),
            None => n.as_f64()?.into(),
        },
        serde_json::Value::String(text) => text.into(),
        serde_json::Value::Array(list) => Value::Array(list.iter().map(toml_of).collect::<Option<_>>()?),
        serde_json::Value::Object(map) => {
            let mut table = toml_edit::InlineTable::new();
            for (key, value) in map {
                table.insert(key, toml_of(value)?);
            }
            Value::InlineTable(table)
        }
    })
}

/// Reads a value as it is written on a command line: a TOML value where it is one, and plain text otherwise.
pub fn parse_value(text: &str) -> serde_json::Value {
    let document = format!("value = {text}");
    toml::from_str::<toml::Table>(&document)
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"))
        .and_then(|value| serde_json::to_value(value).ok())
        .unwrap_or_else(|| text.into())
}

/// Reads an experiment file, with some of its settings replaced, and checks that it makes sense as a whole.
///
/// # Errors
/// When the text is no TOML, has a name or a value that is not known, or names something that it does not declare.
pub fn parse(text: &str, overrides: &[Override]) -> Result<Experiment, FileError> {
    limits::check(text)?;
    let text = overridden(text, overrides)?;
    let mut experiment: Experiment = toml::from_str(&text).map_err(|error| {
        let all = FileError::all_of(wrong::all(&text));
        all.unwrap_or_else(|| FileError::from_toml(&error, &text))
    })?;
    experiment.hosts.values_mut().for_each(Host::take_kernel);
    experiment.hosts.values_mut().for_each(Host::take_reach);
    let document: Option<DocumentMut> = text.parse().ok();
    let says = |path: &dyn Fn(&DocumentMut) -> Option<&Item>| document.as_ref().and_then(path).is_some();
    if !says(&|document| document.get("run")?.get("max_trials"))
        && experiment.claims.iter().any(|claim| claim.compares_cells())
    {
        experiment.run.max_trials = RunOptions::MOST_OF_A_COMPARISON.max(experiment.run.min_trials);
    }
    let mut claims = std::mem::take(&mut experiment.claims);
    for (nth, claim) in claims.iter_mut().enumerate() {
        let name = claim.name();
        let in_claim = |key: &str| says(&|document| document.get("claims")?.get(nth)?.get(name)?.get(key));
        claim.complete(&experiment, &in_claim);
    }
    experiment.claims = claims;
    let wrong = located(validate::validate(&experiment), &text);
    if let Some(error) = FileError::all_of(wrong) {
        return Err(error);
    }
    experiment.make_groups();
    Ok(experiment)
}

fn overridden(text: &str, overrides: &[Override]) -> Result<String, FileError> {
    if overrides.is_empty() {
        return Ok(text.to_owned());
    }
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| FileError {
        message: error.message().to_owned(),
        expected: None,
        nearest: None,
        span: error.span(),
        text: text.into(),
        next: None,
    })?;
    for change in overrides {
        change.apply(&mut document)?;
    }
    Ok(document.to_string())
}

impl FileError {
    /// An error that stands in no file.
    pub(crate) fn plain(message: String, expected: &str) -> Self {
        Self {
            message,
            expected: Some(expected.into()),
            nearest: None,
            span: None,
            text: Box::default(),
            next: None,
        }
    }

    /// It, and what is wrong beside, in the order of the file.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |error| error.next.as_deref())
    }

    /// The first of several errors, linked to the others; `None` if there is none.
    fn all_of(errors: Vec<Self>) -> Option<Self> {
        let before = |next: Option<Self>, error: Self| Some(Self { next: next.map(Box::new), ..error });
        errors.into_iter().rev().fold(None, before)
    }

    fn from_toml(error: &toml::de::Error, text: &str) -> Self {
        let said = error.message();
        let mut parts = said.splitn(2, ", expected ");
        let message = parts.next().unwrap_or(said).to_owned();
        let expected = parts.next().map(in_words);
        let nearest = match (
            message.strip_prefix("unknown field ").or(message.strip_prefix("unknown variant ")),
            &expected,
        ) {
            (Some(given), Some(names)) => nearest(given.trim_matches('`'), backticked(names)),
            _ => None,
        };
        Self { message, expected, nearest, span: error.span(), text: text.into(), next: None }
    }
}

/// Names of the program's types for users.
fn in_words(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more".into(),
        "i32" | "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "a text in quotes".into(),
        "a sequence" => "a list in brackets, such as [\"first\", \"second\"]".into(),
        "a map" => "a table: `key = value` lines, or { key = value }".into(),
        other if other.starts_with("struct ") => in_words("a map"),
        other => other.into(),
    }
}

/// The words in backticks.
fn backticked(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The first [`wrong::MOST`] problems in the order of the file, each of which owns a copy of `text`.
fn located(problems: Vec<Problem>, text: &str) -> Vec<FileError> {
    if problems.is_empty() {
        return Vec::new();
    }
    let document = toml_edit::Document::parse(text).ok();
    let span = |problem: &Problem| span_of(document.as_ref()?.as_item(), &problem.path);
    let mut placed: Vec<_> = problems.into_iter().map(|problem| (span(&problem), problem)).collect();
    placed.sort_by_key(|(span, _)| span.as_ref().map_or(0, |span| span.start));
    placed.truncate(wrong::MOST);
    let error = |(span, problem): (Option<Range<usize>>, Problem)| FileError {
        message: problem.message,
        expected: problem.expected,
        nearest: problem.nearest,
        span,
        text: text.into(),
        next: None,
    };
    placed.into_iter().map(error).collect()
}

/// The span of the value at `path`, or of the innermost enclosing one that is there.
fn span_of(root: &Item, path: &[Part]) -> Option<Range<usize>> {
    let mut item = root;
    let mut span = None;
    for part in path {
        let next = match part {
            Part::Key(key) => item.as_table_like().and_then(|table| {
                span = table.key(key).and_then(toml_edit::Key::span).or(span.take());
                table.get(key)
            }),
            Part::Index(index) => item.get(*index),
        };
        let Some(next) = next else { break };
        // A table's own span covers all of its lines; its key or header is the better place to point at.
        span = match next {
            Item::Value(value) if !value.is_inline_table() => value.span().or(span),
            Item::Table(table) if matches!(part, Part::Index(_)) => table.span().or(span),
            _ => span,
        };
        item = next;
    }
    span
}

#[cfg(test)]
mod tests {
    use super::super::Metric;
    use super::*;

    const SMALL: &str = r#"
question = "does it answer?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.some]
from = "a"
to = "web"
http = { connections = 10 }
[[phases]]
name = "all"
measure = "some"
"#;

    #[test]
    fn a_claim_without_a_metric_is_about_what_its_load_does() {
        let claimed = |load: &str, claims: &str| {
            let text = SMALL.replace("connections = 10", load)
                + "[factors.clients]\nset = \"loads.some.http.concurrency\"\nlevels = [1, 2]\n"
                + claims;
            parse(&text, &[]).unwrap().claims[0].difference().cloned().unwrap().metric
        };
        let kept = "duration = \"1s\", requests_per_connection = 0";
        let tables = "[[claims]]\ndifference = { phase = \"all\", factor = \"clients\" }";
        let named = "[[claims]]\ndifference = { phase = \"all\", factor = \"clients\", metric = \"connections_per_second\" }";
        assert_eq!(claimed("connections = 10", tables), Metric::ConnectionsPerSecond);
        assert_eq!(claimed(kept, tables), Metric::RequestsPerSecond);
        assert_eq!(claimed(kept, named), Metric::ConnectionsPerSecond);
    }

    #[test]
    fn an_error_names_the_expected_form_in_the_words_of_the_file() {
        let of_service = |service: &str| error_of(&SMALL.replace("web = {}", service)).0.expected;
        let expected = of_service("exec = { program = \"./server\" }").unwrap();
        assert!(expected.starts_with("a list in brackets"), "{expected}");
        let expected = error_of(&SMALL.replace("from = \"a\"", "from = 7")).0.expected;
        assert_eq!(expected.as_deref(), Some("a text in quotes"));
        let expected = of_service("web = 7").unwrap();
        assert!(expected.starts_with("a table"), "{expected}");
    }

    fn error_of(text: &str) -> (FileError, String) {
        let error = parse(text, &[]).unwrap_err();
        let at = error.span.clone().map(|span| text[span].to_owned()).unwrap_or_default();
        (error, at)
    }

    #[test]
    fn a_small_experiment_is_read() {
        let experiment = parse(SMALL, &[]).unwrap();
        assert_eq!(experiment.loads["some"].kind.http().unwrap().connections, Some(10));
    }

    #[test]
    fn a_file_may_name_its_schema() {
        let named = parse(&format!("\"$schema\" = \"experiment.schema.json\"{SMALL}"), &[]).unwrap();
        assert_eq!(named.schema.as_deref(), Some("experiment.schema.json"));
        assert_eq!(named.question, parse(SMALL, &[]).unwrap().question);
    }

    #[test]
    fn an_unknown_key_is_pointed_at_and_the_nearest_name_is_offered() {
        let (error, at) = error_of(&SMALL.replace("connections", "conections"));
        assert_eq!(at, "conections");
        assert_eq!(error.nearest.as_deref(), Some("connections"));
        assert!(error.message.contains("unknown field `conections`"), "{error}");
    }

    #[test]
    fn a_value_of_the_wrong_type_says_what_was_expected() {
        let (error, at) = error_of(&SMALL.replace("connections = 10", "connections = \"ten\""));
        assert_eq!(at, "\"ten\"");
        assert_eq!(error.expected.as_deref(), Some("a whole number, 0 or more"));
    }

    #[test]
    fn a_name_that_is_not_declared_is_pointed_at() {
        let (error, at) = error_of(&SMALL.replace("to = \"web\"", "to = \"wev\""));
        assert_eq!(at, "\"wev\"");
        assert_eq!(error.nearest.as_deref(), Some("web"));
    }

    #[test]
    fn an_override_replaces_a_value_by_its_path() {
        let set = |path: &str, value: &str| Override::new(path, &parse_value(value)).unwrap();
        let overrides = [
            set("loads.some.http.connections", "20"),
            set("phases.all.slices", "4"),
            set("hosts.a.sysctls.\"net.ipv4.tcp_tw_reuse\"", "1"),
        ];
        let experiment = parse(SMALL, &overrides).unwrap();
        assert_eq!(experiment.loads["some"].kind.http().unwrap().connections, Some(20));
        assert_eq!(experiment.phases[0].slices, Some(4));
        assert_eq!(experiment.hosts["a"].sysctls["net.ipv4.tcp_tw_reuse"].to_string(), "1");
        let inline = SMALL.replace("[hosts.a]", "[hosts]\na = { forward = true }");
        let experiment = parse(&inline, &overrides).unwrap();
        assert_eq!(experiment.hosts["a"].sysctls["net.ipv4.tcp_tw_reuse"].to_string(), "1");
    }

    #[test]
    fn a_comparison_of_cells_gets_enough_trials_where_nobody_says_how_many() {
        let compared = format!(
            "{SMALL}[factors.backlog]\nset = \"services.web.web.backlog\"\nlevels = [8, 16]\n[[claims]]\ndifference = {{ phase = \
             \"all\", factor = \"backlog\" }}\n"
        );
        let most = |text: &str| parse(text, &[]).unwrap().run.max_trials;
        assert_eq!((most(SMALL), most(&compared)), (3, 12));
        assert_eq!(most(&format!("{compared}[run]\nmax_trials = 4\n")), 4);
        assert_eq!(most(&format!("{compared}[run]\nmin_trials = 20\n")), 20);
    }

    #[test]
    fn an_override_of_something_that_is_not_there_is_refused() {
        let error =
            parse(SMALL, &[Override::new("loads.none.http.connections", &20.into()).unwrap()]).unwrap_err();
        assert_eq!(error.message, "cannot set `loads.none.http.connections`: there is no `loads.none`");
    }

    #[test]
    fn a_value_from_the_command_line_is_toml_where_it_can_be() {
        assert_eq!(parse_value("20"), 20);
        assert_eq!(parse_value("true"), true);
        assert_eq!(parse_value("5s"), "5s");
        assert_eq!(parse_value("[1, 2]"), serde_json::json!([1, 2]));
        assert_eq!(parse_value("1\nother = 2"), "1\nother = 2");
    }
}
