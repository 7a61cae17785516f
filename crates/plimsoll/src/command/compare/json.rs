//! The answer for programs. Two commands give one verdict (schema `plimsoll.verdict/1`) with the fields of this test beside it; more
//! give one for each command but the first (schema `plimsoll.compare/1`).

use std::time::Duration;

use plimsoll_assess::Explained;
use plimsoll_judge::compare::Comparison;
use plimsoll_judge::stats::median;
use plimsoll_model::verdict::VERDICT_SCHEMA;
use serde_json::{Map, Value, json};

use super::answer::Answers;
use super::text;
use crate::measure::Times;

/// The name and version of the JSON form of several verdicts. The number rises when a field changes its meaning or goes away.
pub(super) const COMPARE_SCHEMA: &str = "plimsoll.compare/1";

pub(super) fn document(answer: &Answers<'_>) -> Map<String, Value> {
    if let [only] = answer.comparisons.as_slice() { pair(answer, only) } else { several(answer) }
}

fn pair(answer: &Answers<'_>, found: &Comparison) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("schema".into(), VERDICT_SCHEMA.into());
    fields.extend(verdict(found));
    fields.insert("summary".into(), text::sentence(answer, &answer.cells[0], &answer.cells[1], found).into());
    fields.extend(common(answer));
    let pairs = answer.contest.blocks().iter().map(|block| {
        json!({"a": block.values[0], "b": block.values[1], "first": if block.order[0] == 0 { "a" } else { "b" }})
    });
    fields.insert("pairs".into(), pairs.collect());
    fields.extend(answer.explained.iter().flat_map(why));
    if !answer.missing.is_empty() {
        fields.insert("notes".into(), json!(answer.missing));
    }
    fields
}

/// The causes of a difference, as fields beside its verdict.
pub(super) fn why(explained: &Explained) -> [(String, Value); 3] {
    let Explained { causes, evidence, profile } = explained;
    [
        ("causes".to_owned(), json!(causes)),
        ("evidence".to_owned(), json!(evidence)),
        ("profile".to_owned(), json!(profile)),
    ]
}

fn several(answer: &Answers<'_>) -> Map<String, Value> {
    let name = |cell: usize| &answer.cells[cell].name;
    let named = |a: usize, b: usize, found: &Comparison| {
        let mut fields = Map::from_iter([("a".into(), json!(name(a))), ("b".into(), json!(name(b)))]);
        fields.extend(verdict(found));
        Value::Object(fields)
    };
    let verdicts = answer.comparisons.iter().enumerate().map(|(i, found)| named(0, i + 1, found));
    let ranking = answer.ranking.iter().map(|(a, b, found)| named(*a, *b, found));
    let blocks = answer.contest.blocks().iter().map(|block| {
        let values: Map<String, Value> =
            block.values.iter().enumerate().map(|(cell, value)| (name(cell).clone(), json!(value))).collect();
        json!({"order": block.order.iter().map(|cell| name(*cell)).collect::<Vec<_>>(), "values": values})
    });
    let mut fields = Map::from_iter([
        ("schema".to_owned(), COMPARE_SCHEMA.into()),
        ("verdicts".to_owned(), verdicts.collect()),
        ("ranking".to_owned(), ranking.collect()),
    ]);
    fields.extend(common(answer));
    fields.insert("blocks".into(), blocks.collect());
    fields
}

/// The fields of the verdict, and what only this test knows of it.
pub(crate) fn verdict(found: &Comparison) -> Map<String, Value> {
    let mut fields = match serde_json::to_value(&found.verdict) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.insert("p".into(), json!(found.p));
    fields.insert("needed".into(), json!(found.needed));
    fields
}

/// The median of a time of each run, in seconds.
fn seconds(of: &[Times], time: fn(&Times) -> Duration) -> f64 {
    median(&of.iter().map(|times| time(times).as_secs_f64()).collect::<Vec<f64>>())
}

fn common(answer: &Answers<'_>) -> Map<String, Value> {
    let cells = answer.cells.iter().enumerate().map(|(i, cell)| {
        json!({
            "name": cell.name,
            "command": cell.command,
            "median": median(&answer.contest.values(i)),
            "waited_share": answer.contest.foreign_share(i),
            "wall_s": seconds(&answer.times[i], |times| times.wall),
            "user_s": seconds(&answer.times[i], |times| times.user),
            "system_s": seconds(&answer.times[i], |times| times.system),
        })
    });
    Map::from_iter([
        ("unit".to_owned(), json!(answer.gauge.unit())),
        ("lower_is_better".to_owned(), json!(answer.gauge.lower_is_better())),
        ("margin".to_owned(), json!(answer.settings.compare.margin)),
        ("alpha".to_owned(), json!(answer.settings.compare.alpha)),
        ("seed".to_owned(), json!(answer.seed)),
        ("interrupted".to_owned(), json!(answer.interrupted)),
        ("cells".to_owned(), cells.collect()),
    ])
}
