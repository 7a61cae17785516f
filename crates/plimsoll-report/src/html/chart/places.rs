//! The horizontal axis of charts per phase and cycle: the measured phases, in the order in which they were carried out.

use plimsoll_model::observation::PhaseKind;
use plotly::Layout;
use plotly::layout::Axis;

use super::spans;
use super::{axis, shortened};
use crate::escape::chart;
use crate::html::spans::{Shade, Span};
use crate::summary::{Row, place};
use crate::wording;

/// More labels than this are thinned out.
const LABELS: usize = 40;
/// The longest label, in characters.
const LABEL_LENGTH: usize = 20;

/// How far to the side of its place each rig is drawn.
pub(in crate::html) const ASIDE: f64 = 0.13;

/// The measured phases of a cell, each at its place.
pub(in crate::html) struct Places<'a> {
    pub(in crate::html) rows: Vec<&'a Row>,
    /// How many of them come before the first flood or cycle; `None` if there is neither.
    before: Option<usize>,
}

impl<'a> Places<'a> {
    /// Phases that measure and can be compared: neither those that drive nor those that watch.
    pub(in crate::html) fn new(rows: &'a [Row]) -> Self {
        let measured = |r: &&Row| matches!(r.kind, PhaseKind::Measure | PhaseKind::Remedy);
        let first = rows.iter().position(|row| row.kind == PhaseKind::Drive || row.cycle > 0);
        let before = first.map(|first| rows[..first].iter().filter(measured).count());
        Self { rows: rows.iter().filter(measured).collect(), before }
    }

    /// Every place with its row.
    pub(in crate::html) fn iter(&self) -> impl Iterator<Item = (f64, &'a Row)> {
        self.rows.iter().enumerate().map(|(i, row)| (i as f64, *row))
    }

    /// A layout with this axis, and the cycles as named stretches.
    pub(in crate::html) fn layout(&self, height: usize) -> Layout {
        let range = (-0.5, self.rows.len() as f64 - 0.5);
        spans::layout(height, &self.spans(), range).x_axis(self.axis(range))
    }

    fn axis(&self, (start, end): (f64, f64)) -> Axis {
        let every = self.rows.len().div_ceil(LABELS).max(1);
        let labelled: Vec<_> = self.iter().step_by(every).collect();
        axis("")
            .range(vec![start, end])
            .tick_values(labelled.iter().map(|(x, _)| *x).collect())
            .tick_text(labelled.iter().map(|(_, row)| label(row)).collect::<Vec<_>>())
            .show_grid(false)
            .zero_line(false)
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        // Without a flood there is nothing that a phase could come before.
        let Some(before) = self.before else { return spans };
        for (i, (x, row)) in self.iter().enumerate() {
            let name = match (row.kind, row.cycle) {
                (PhaseKind::Remedy, _) => "remedies".into(),
                (_, 0) if i < before => "before".into(),
                (_, 0) => "after".into(),
                (_, cycle) => format!("cycle {cycle}"),
            };
            match spans.last_mut() {
                Some(span) if span.name == name => span.end = x + 0.5,
                _ => {
                    let shade = if spans.len() % 2 == 1 { Shade::Plain } else { Shade::None };
                    spans.push(Span { name, start: x - 0.5, end: x + 0.5, shade });
                }
            }
        }
        spans
    }
}

fn label(row: &Row) -> String {
    chart(&shortened(row.rung.map_or(row.phase.as_str(), |rung| wording::rung(rung)), LABEL_LENGTH))
}

/// Hover text of a point.
pub(in crate::html) fn hover(row: &Row, rig: &str, figure: &str) -> String {
    format!("{}<br>{rig}: {}", chart(&place(row)), chart(figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(phase: &str, kind: PhaseKind, cycle: u32) -> Row {
        Row { phase: phase.into(), kind, cycle, rung: None, main: None, control: None }
    }

    fn names(rows: &[Row]) -> Vec<String> {
        Places::new(rows).spans().into_iter().map(|span| span.name).collect()
    }

    #[test]
    fn phases_come_before_a_flood_only_where_there_is_one() {
        let (measure, drive) = (PhaseKind::Measure, PhaseKind::Drive);
        assert!(names(&[row("one", measure, 0), row("two", measure, 0)]).is_empty());
        let flooded = [row("baseline", measure, 0), row("flood", drive, 0), row("late", measure, 0)];
        assert_eq!(names(&flooded), ["before", "after"]);
        let cycles = [row("baseline", measure, 0), row("flood", drive, 1), row("after", measure, 1)];
        assert_eq!(names(&cycles), ["before", "cycle 1"]);
    }
}
