//! How much of a load is carried out, and how long it waits.

use super::LoadPlace;
use crate::experiment::prelude::*;

/// Whether a load says either how many of something it carries out, under this key and at most that many, or for how long.
pub(super) fn check_extent(
    at: &LoadPlace<'_>,
    kind: &str,
    (key, count): (&str, Option<u64>),
    most: u64,
    duration: Option<Span>,
) -> Checked {
    if count.is_some() == duration.is_some() {
        let message = format!("the load `{}` does not state its length", at.name);
        let expected = format!("either `{key}` or `duration`");
        return Err(problem(path!["loads", at.name, kind], message, expected));
    }
    count.map_or(Ok(()), |count| in_range(count, 1, most, path!["loads", at.name, kind, key]))
}

/// Checks that a load waits at all for its operations: none ends in no time.
pub(super) fn check_timeout(at: &LoadPlace<'_>, kind: &str, timeout: Span) -> Checked {
    if timeout.0.is_zero() {
        let place = path!["loads", at.name, kind, "timeout"];
        return Err(problem(place, "nothing is answered in no time", "a time such as \"5s\""));
    }
    Ok(())
}

/// How much of a load is carried out, in words, such as `400 connections` or `2s`.
pub(super) fn amount((key, count): (&str, Option<u64>), duration: Option<Span>) -> String {
    let many = count.map(|count| format!("{count} {key}"));
    many.or(duration.map(|span| span.to_string())).unwrap_or_default()
}

/// Methods of a load whose extent is a number of operations, or a duration.
macro_rules! by_count_or_time {
    ($count:ident) => {
        fn part(&self, place: u32, number: u32) -> LoadKind {
            let $count = self.$count.map(|all| share(all, place, number));
            let duration = self.duration.map(|all| Span(all.0 / number));
            Self { $count, duration, ..self.clone() }.into()
        }

        fn window(&self, operations: u64) -> LoadKind {
            Self { $count: Some(operations), duration: None, ..self.clone() }.into()
        }

        fn lasting(&self, duration: Span) -> LoadKind {
            Self { $count: None, duration: Some(duration), ..self.clone() }.into()
        }

        fn lasts(&self) -> Option<Span> {
            self.duration
        }
    };
}
