//! All errors of a file that cannot be read, as far as they can be found at once.
//!
//! Reading stops at the first value that does not fit. It is taken out, and what is left is read again, until it fits or nothing can be
//! taken out any more.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

use super::{Experiment, FileError};
use crate::experiment::kinds::SAYS_NOTHING;

/// The most errors of one file that are reported.
pub(super) const MOST: usize = 50;

/// All errors in `text`, in the order of their places; never empty where the text cannot be read.
pub(super) fn all(text: &str) -> Vec<FileError> {
    let (mut root, syntax) = DeTable::parse_recoverable(text);
    if !syntax.is_empty() {
        return one_a_line(text, syntax.iter().collect());
    }
    let mut wrong = Vec::new();
    // Tables from which something was removed: a missing key there may be the removed one.
    let mut damaged: Vec<Range<usize>> = Vec::new();
    while wrong.len() < MOST {
        let Err(error) = Experiment::deserialize(Deserializer::from(root.clone())) else { break };
        let error = FileError::from_toml(&error, text);
        let place = error.span.as_ref().and_then(|span| smallest(root.get_ref(), span));
        let is_incomplete =
            error.message.starts_with("missing field") || error.message.ends_with(SAYS_NOTHING);
        let follows = is_incomplete && place.as_ref().is_some_and(|place| damaged.contains(&place.id));
        if wrong.last() == Some(&error) {
            // Taking something out did not help.
            break;
        }
        if !follows {
            wrong.push(error);
        }
        let Some(place) = place else { break };
        damaged.extend(place.inside);
        let span = root.span();
        root = Spanned::new(span, table_without(root.into_inner(), &place.id));
    }
    wrong.sort_by_key(|error| error.span.as_ref().map_or(0, |span| span.start));
    wrong
}

/// The first of the errors of each line: what follows on the same line is mostly its consequence.
fn one_a_line(text: &str, mut errors: Vec<&toml::de::Error>) -> Vec<FileError> {
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start.min(text.len()));
    errors.sort_by_key(|error| start(error));
    let mut seen: Option<usize> = None;
    errors.retain(|error| {
        let between = &text.as_bytes()[seen.unwrap_or(0)..start(error)];
        let is_first_of_line = seen.is_none() || between.contains(&b'\n');
        seen = Some(start(error));
        is_first_of_line
    });
    // Each error owns a copy of the text.
    errors.truncate(MOST);
    errors.into_iter().map(|error| FileError::from_toml(error, text)).collect()
}

/// A part that can be removed from a file.
struct Removable {
    /// The span of its key, or of itself where it is an element of a list.
    id: Range<usize>,
    /// Span of the enclosing item.
    inside: Option<Range<usize>>,
    length: usize,
}

/// The smallest thing that an error lies in.
fn smallest(table: &DeTable<'_>, wrong: &Range<usize>) -> Option<Removable> {
    let mut best = None;
    in_table(table, None, wrong, &mut best);
    best
}

fn covers(span: &Range<usize>, wrong: &Range<usize>) -> bool {
    span.start <= wrong.start && wrong.end <= span.end
}

fn in_table(
    table: &DeTable<'_>,
    inside: Option<&Range<usize>>,
    wrong: &Range<usize>,
    best: &mut Option<Removable>,
) {
    for (key, value) in table {
        let id = key.span();
        consider(&id, &[key.span(), value.span()], inside, wrong, best);
        in_value(value.get_ref(), &id, wrong, best);
    }
}

fn in_value(value: &DeValue<'_>, id: &Range<usize>, wrong: &Range<usize>, best: &mut Option<Removable>) {
    match value {
        DeValue::Table(table) => in_table(table, Some(id), wrong, best),
        DeValue::Array(list) => {
            for element in list {
                let of_element = element.span();
                consider(&of_element, &[element.span()], Some(id), wrong, best);
                in_value(element.get_ref(), &of_element, wrong, best);
            }
        }
        _ => {}
    }
}

fn consider(
    id: &Range<usize>,
    spans: &[Range<usize>],
    inside: Option<&Range<usize>>,
    wrong: &Range<usize>,
    best: &mut Option<Removable>,
) {
    let length = spans.iter().filter(|span| covers(span, wrong)).map(ExactSizeIterator::len).min();
    if let Some(length) = length.filter(|length| best.as_ref().is_none_or(|best| *length <= best.length)) {
        *best = Some(Removable { id: id.clone(), inside: inside.cloned(), length });
    }
}

fn table_without<'t>(table: DeTable<'t>, id: &Range<usize>) -> DeTable<'t> {
    let kept = table.into_iter().filter(|(key, _)| key.span() != *id);
    kept.map(|(key, value)| (key, value_without(value, id))).collect()
}

fn value_without<'t>(value: Spanned<DeValue<'t>>, id: &Range<usize>) -> Spanned<DeValue<'t>> {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::Table(table) => DeValue::Table(table_without(table, id)),
        DeValue::Array(list) => {
            let mut kept = DeArray::new();
            list.into_iter()
                .filter(|element| element.span() != *id)
                .for_each(|element| kept.push(value_without(element, id)));
            DeValue::Array(kept)
        }
        other => other,
    };
    Spanned::new(span, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        let at = |error: &FileError| error.span.clone().map_or("", |span| &text[span]).to_owned();
        all(text).iter().map(|error| (at(error), error.message.clone())).collect()
    }

    #[test]
    fn every_value_that_does_not_fit_is_named_and_what_only_follows_from_one_is_not() {
        let text = r#"
question = "?"
[hosts.a]
forwards = true
[services.web]
on = 7
web = { clients = "many", backlog = -1 }
[loads.some]
from = "a"
to = "web"
http = { conections = 10, concurrency = 1 }
[[phases]]
name = "all"
measure = 5
[[phases]]
measure = "some"
"#;
        let found = found(text);
        let at: Vec<&str> = found.iter().map(|(at, _)| at.as_str()).collect();
        assert_eq!(at[..5], ["forwards", "7", "\"many\"", "-1", "conections"], "{found:#?}");
        assert_eq!(at[5], "5", "{found:#?}");
        assert!(found[6].1.contains("missing field `name`"), "{found:#?}");
        assert_eq!(found.len(), 7, "{found:#?}");
    }

    #[test]
    fn a_claim_is_of_exactly_one_kind_and_one_mistake_is_named_once() {
        let wrong = |claim: &str| {
            let all = found(&format!(
                "question = \"?\"\n[hosts.a]\n[[phases]]\nname = \"all\"\nmeasure = \"m\"\n[[claims]]\n{claim}\n"
            ));
            assert_eq!(all.len(), 1, "{all:#?}");
            all[0].clone()
        };
        let (at, message) = wrong("");
        assert_eq!((at.as_str(), message.as_str()), ("[[claims]]", "the claim does not say what it is"));
        let (_, message) = wrong("delivery = { sink = \"a\" }\nmodes = { phase = \"all\" }");
        assert_eq!(message, "the claim is delivery and modes at once");
        let (at, message) = wrong("delivry = { sink = \"a\" }");
        assert_eq!((at.as_str(), message.as_str()), ("delivry", "unknown field `delivry`"));
        let (at, message) = wrong("delivery = { snk = \"a\" }");
        assert_eq!((at.as_str(), message.as_str()), ("snk", "unknown field `snk`"));
    }

    #[test]
    fn mistakes_of_syntax_are_named_line_by_line() {
        let text = "question = \"?\"\n[hosts.a\nforward = tru\n[hosts.b]\ncpus = = 1\n";
        let found = found(text);
        assert!(found.len() >= 2, "{found:#?}");
    }

    #[test]
    fn a_file_that_lacks_what_every_file_has_is_refused_once() {
        let found = found("[hosts.a]\n");
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].1.contains("missing field"), "{found:#?}");
    }
}
