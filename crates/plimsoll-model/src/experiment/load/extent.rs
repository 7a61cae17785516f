//! How much of a load is carried out, at what rate, and how long it waits.

use super::LoadPlace;
use crate::experiment::open_loop::{OpenLoop, check_rate};
use crate::experiment::prelude::*;

/// Whether a load says either how many of something it carries out, under this key and at most that many, or for how long.
pub(super) fn check_extent(
    at: &LoadPlace<'_>,
    (key, count): (&str, Option<u64>),
    most: u64,
    duration: Option<Span>,
) -> Checked {
    if count.is_some() == duration.is_some() {
        let message = format!("the load `{}` does not state its length", at.name);
        let expected = format!("either `{key}` or `duration`");
        return Err(problem(at.table(), message, expected));
    }
    count.map_or(Ok(()), |count| in_range(count, 1, most, at.key(key)))
}

/// Checks that a load waits at all for its operations: none ends in no time.
pub(super) fn check_timeout(at: &LoadPlace<'_>, timeout: Span) -> Checked {
    if timeout.0.is_zero() {
        return Err(problem(at.key("timeout"), "nothing is answered in no time", "a time such as \"5s\""));
    }
    Ok(())
}

/// An open loop has one form, and rates that can be meant.
pub(super) fn check_open(at: &LoadPlace<'_>, open: &OpenLoop) -> Checked {
    let here = |key: &str| [at.key("open").as_slice(), &path![key]].concat();
    let forms = [
        ("rate", open.rate > 0.0 && open.ramp_to.is_none() && open.sine.is_none()),
        ("ramp_to", open.ramp_to.is_some()),
        ("sine", open.sine.is_some()),
        ("steps", !open.steps.is_empty()),
    ];
    one_of(&forms, &format!("the rate of the load `{}`", at.name), at.key("open"))?;
    for (index, rate) in open.steps.iter().enumerate() {
        check_rate(*rate, [here("steps").as_slice(), &path![index]].concat())?;
    }
    if let Some(to) = open.ramp_to {
        // Either end may be nothing, but not both.
        check_rate(to.max(open.rate), here("ramp_to"))?;
        check_rate(if to.min(open.rate) == 0.0 { 1.0 } else { to.min(open.rate) }, here("ramp_to"))?;
    } else if open.steps.is_empty() {
        check_rate(open.highest_rate(), here("rate"))?;
    }
    match &open.sine {
        Some(sine) if !(0.0..=open.rate).contains(&sine.amplitude) || open.rate <= 0.0 => Err(problem(
            here("sine"),
            "the rate would fall below nothing",
            "an amplitude from 0 to `rate`, and a `rate` of more than 0",
        )),
        Some(sine) if sine.period.0.is_zero() => {
            Err(problem(here("sine"), "the period is empty", "a length of time of more than 0"))
        }
        _ => Ok(()),
    }
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
