//! One counter of a host over the time of a trial, of those that moved.

use std::collections::BTreeMap;

use plimsoll_model::observation::{Sample, TrialRecord};
use plotly::common::{Line, Mode};
use plotly::layout::HoverMode;
use plotly::{Scatter, Trace};

use super::{CONTROL, Drawing, Figure, Plot, TREATMENT, axis, drawn, drawn_s, spans};
use crate::html::{COUNTER_PICKER, timeline};
use crate::summary;

const HEIGHT: usize = 380;
/// The trials that are drawn.
const TRIALS: usize = 3;
/// Stretches of a trial.
const POINTS: usize = 60;
/// Counters of one host and of all.
const OF_HOST: usize = 30;
const OF_ALL: usize = 120;
/// Drawn in a chart of its own.
const ELSEWHERE: &str = "machine.stat.cpu";
/// The control's hosts end so.
const OF_CONTROL: char = '\'';

/// A counter of a host, with its course in each trial that is drawn.
pub(in crate::html) struct Counter {
    pub(in crate::html) host: String,
    pub(in crate::html) name: String,
    /// Whether the counter only grows, so that it is shown as a rate.
    pub(in crate::html) grows: bool,
    courses: Vec<Course>,
    moves: usize,
}

struct Course {
    trial: u32,
    control: bool,
    at_s: Vec<f64>,
    values: Vec<f64>,
}

impl Counter {
    /// All values that are drawn, in rising order.
    pub(in crate::html) fn sorted(&self) -> Vec<f64> {
        crate::number::sorted(self.courses.iter().flat_map(|course| course.values.iter().copied()))
    }

    /// Unit of the values.
    pub(in crate::html) fn unit(&self) -> &'static str {
        if self.grows { "per second" } else { "value" }
    }
}

/// The counters that moved most often, host by host.
pub(in crate::html) fn seen(trials: &[&TrialRecord]) -> Vec<Counter> {
    let mut all: BTreeMap<(String, String), Vec<Raw>> = BTreeMap::new();
    for trial in trials.iter().take(TRIALS) {
        for (host, samples) in &trial.series {
            let control = host.ends_with(OF_CONTROL);
            let name = host.trim_end_matches(OF_CONTROL);
            for (counter, course) in courses(trial, samples) {
                let raw = Raw { trial: trial.number, control, course };
                all.entry((name.to_owned(), counter.to_owned())).or_default().push(raw);
            }
        }
    }
    let mut counters: Vec<Counter> = all.into_iter().filter_map(|(name, raw)| counter(name, raw)).collect();
    counters.sort_by(|a, b| {
        let by_host = a.host.cmp(&b.host);
        by_host.then_with(|| b.moves.cmp(&a.moves)).then_with(|| a.name.cmp(&b.name))
    });
    let mut kept: Vec<Counter> = Vec::new();
    for counter in counters {
        if kept.iter().filter(|it| it.host == counter.host).count() < OF_HOST && kept.len() < OF_ALL {
            kept.push(counter);
        }
    }
    kept.sort_by(|a, b| a.host.cmp(&b.host).then_with(|| a.name.cmp(&b.name)));
    kept
}

/// Values of a counter at moments in seconds.
struct Raw {
    trial: u32,
    control: bool,
    course: Vec<(f64, f64)>,
}

/// The counters of a host at the ends of equal stretches. A series leaves out what did not change since the sample before.
fn courses<'s>(trial: &TrialRecord, samples: &'s [Sample]) -> BTreeMap<&'s str, Vec<(f64, f64)>> {
    let mut courses: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    let Some(first) = samples.first() else { return courses };
    let length_s = timeline::length_s(trial);
    let since = |sample: &Sample, origin: u64| (sample.at_ns as f64 - origin as f64) / 1e9;
    // A host with a clock of its own begins with its first sample.
    let origin = timeline::origin_ns(trial).filter(|origin| since(first, *origin).abs() <= length_s);
    let origin = origin.unwrap_or(first.at_ns);
    let step_s = length_s / POINTS as f64;
    let mut known: BTreeMap<&str, f64> = BTreeMap::new();
    let mut next_s = f64::NEG_INFINITY;
    for (n, sample) in samples.iter().enumerate() {
        let named = sample.values.iter().filter(|(name, _)| !name.starts_with(ELSEWHERE));
        known.extend(named.map(|(name, value)| (name.as_str(), *value)));
        let at_s = since(sample, origin);
        if at_s < next_s && n + 1 < samples.len() {
            continue;
        }
        next_s = at_s + step_s * 0.999;
        for (name, value) in &known {
            courses.entry(name).or_default().push((at_s, *value));
        }
    }
    courses
}

/// A counter, where it moved in more than one stretch of a trial.
fn counter((host, name): (String, String), raw: Vec<Raw>) -> Option<Counter> {
    let steps = || raw.iter().flat_map(|it| it.course.windows(2)).map(|pair| pair[1].1 - pair[0].1);
    let moves = steps().filter(|step| *step != 0.0).count();
    if moves < 2 {
        return None;
    }
    let grows = steps().all(|step| step >= 0.0);
    let course = |raw: Raw| {
        let (at_s, values) = if grows {
            let rate = |pair: &[(f64, f64)]| {
                let took = (pair[1].0 - pair[0].0).max(1e-9);
                (drawn_s(pair[1].0), drawn((pair[1].1 - pair[0].1) / took))
            };
            raw.course.windows(2).map(rate).unzip()
        } else {
            raw.course.iter().map(|(at, value)| (drawn_s(*at), drawn(*value))).unzip()
        };
        Course { trial: raw.trial, control: raw.control, at_s, values }
    };
    Some(Counter { host, name, grows, moves, courses: raw.into_iter().map(course).collect() })
}

/// The chart, a drawing for each counter; absent when none moved.
pub(in crate::html) fn chart(counters: &[Counter], trials: &[&TrialRecord]) -> Option<Figure> {
    let first = trials.first().filter(|_| !counters.is_empty())?;
    let with_control = counters.iter().flat_map(|it| &it.courses).any(|course| course.control);
    let plots = counters
        .iter()
        .enumerate()
        .map(|(n, counter)| ((n + 1).to_string(), plot(counter, first, with_control)));
    let drawn = trials.len().min(TRIALS);
    Some(Figure {
        id: "counters".into(),
        title: "Counters of hosts".into(),
        description: format!(
            "A counter over the time of a trial, {} to choose from; all of them stand in the table below with their least, median and greatest values.",
            counters.len()
        ),
        caption: format!(
            "Counters that only grow are drawn as rates over a sixtieth of a trial, the others as they were. {} Phases are those of trial {}.",
            match drawn {
                1 => "One trial is drawn.".to_owned(),
                n => format!("The first {n} trials are drawn, a line for each."),
            },
            first.number
        ),
        drawing: Drawing::Picked { picker: COUNTER_PICKER, plots: plots.collect() },
    })
}

fn plot(counter: &Counter, first: &TrialRecord, with_control: bool) -> Plot {
    let ends = counter.courses.iter().filter_map(|course| course.at_s.last().copied());
    let range = (0.0, ends.fold(timeline::length_s(first).max(1e-3), f64::max));
    let layout = spans::layout(HEIGHT, &timeline::spans(first), range)
        .hover_mode(HoverMode::Closest)
        .show_legend(with_control)
        .x_axis(axis("seconds after the trial's start").range(vec![range.0, range.1]).zero_line(false))
        .y_axis(axis(counter.unit()));
    let mut named = [false; 2];
    let line = |course: &Course| -> Box<dyn Trace> {
        let (color, rig) = if course.control {
            (CONTROL, summary::CONTROL)
        } else {
            (TREATMENT, summary::measured(with_control))
        };
        let is_first = !std::mem::replace(&mut named[usize::from(course.control)], true);
        Scatter::new(course.at_s.clone(), course.values.clone())
            .name(rig)
            .legend_group(rig)
            .show_legend(is_first)
            .mode(Mode::Lines)
            .line(Line::new().color(color).width(1.5))
            .hover_template(format!("%{{y}} at %{{x}} s, trial {}", course.trial))
    };
    Plot::new(counter.courses.iter().map(line).collect(), layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(values: &[f64]) -> Raw {
        let course = values.iter().enumerate().map(|(n, value)| (n as f64 * 2.0, *value)).collect();
        Raw { trial: 1, control: false, course }
    }

    #[test]
    fn what_only_grows_is_a_rate_and_what_stands_still_is_left_out() {
        let of = |values: &[f64]| counter(("h".into(), "c".into()), vec![raw(values)]);
        let grows = of(&[10.0, 14.0, 14.0, 24.0]).unwrap();
        assert_eq!((grows.grows, grows.sorted()), (true, vec![0.0, 2.0, 5.0]));
        let level = of(&[10.0, 4.0, 6.0]).unwrap();
        assert_eq!((level.grows, level.sorted()), (false, vec![4.0, 6.0, 10.0]));
        assert!(of(&[7.0; 5]).is_none() && of(&[7.0, 7.0, 8.0]).is_none());
    }
}
