//! A page of numbers from anywhere: the verdict on them, the chart that fits, and what it rests on.

use std::io::{self, Write};

use maud::{Markup, html};
use plimsoll_model::numbers::Numbers;
use plimsoll_model::report::Finding;
use plimsoll_model::verdict::Verdict;

use super::bundle::Bundle;
use super::chart::numbers;
use super::{page, sections, tables};
use crate::section::Block;
use crate::wording;

/// Content of the page, from the answer down.
#[derive(Clone, Copy, Debug)]
pub struct NumbersPage<'p> {
    /// Name of the file that was read, or of several.
    pub title: &'p str,
    /// The question in words.
    pub asked: &'p str,
    /// The answer, where something was judged.
    pub verdict: Option<&'p Verdict>,
    /// Charts: a name, and the numbers.
    pub numbers: &'p [(String, Numbers)],
    /// Other results of the test, by name.
    pub facts: &'p [(String, String)],
    /// The numbers in tables.
    pub tables: &'p [Rows],
    /// How to have the same again.
    pub again: &'p str,
}

/// Rows below titles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Name of their content.
    pub name: String,
    /// The titles of the columns, and whether figures stand below.
    pub columns: Vec<(&'static str, bool)>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// Writes the page.
///
/// # Errors
/// Those of the writer.
pub fn judged(out: &mut dyn Write, content: &NumbersPage<'_>, bundle: Bundle) -> io::Result<()> {
    page::write(out, &format!("{}: {}", content.title, content.asked), &body(content), bundle)
}

pub(super) fn body(content: &NumbersPage<'_>) -> Markup {
    let metric = content.verdict.map_or("value", |verdict| verdict.metric.as_str());
    let charts = (1..)
        .zip(content.numbers)
        .map(|(n, (name, numbers))| numbers::section(n, name, &wording::metric(metric), numbers));
    let charts: Vec<_> = charts.collect();
    html! {
        header .page {
            h1 { (content.title) }
            p .question { (content.asked) }
        }
        main #content {
            @if let Some(verdict) = content.verdict {
                section #answer aria-label="Answer" { (sections::verdict_box(&Finding::bare(verdict.clone()))) }
            }
            noscript { p { "The charts need JavaScript. Every figure also stands in the tables below." } }
            @if !charts.is_empty() {
                section #numbers aria-label="Numbers" {
                    h2 { "Numbers" }
                    @for section in &charts {
                        @for block in &section.blocks {
                            @if let Block::Chart(figure) = block { (figure.markup()) }
                        }
                    }
                    @for section in &charts { details { summary { (section.title) " in figures" } (tables::in_figures(section)) } }
                }
            }
            @if !content.facts.is_empty() {
                section #facts aria-label="What else was found" {
                    h2 { "What else was found" }
                    (page::table("What else was found", "", &html! {
                        tbody { @for (name, text) in content.facts { tr { th scope="row" { (name.replace('_', " ")) } td { (text) } } } }
                    }))
                }
            }
            @for table in content.tables { (rows(table)) }
        }
        footer {
            p { "The same again:" }
            pre { code { (content.again) } }
        }
    }
}

fn rows(of: &Rows) -> Markup {
    html! {
        section aria-label=(of.name) {
            h2 { (of.name) }
            (page::table(&of.name, "", &html! {
                (page::head(&of.columns))
                tbody { @for row in &of.rows {
                    tr { @for (cell, (_, figures)) in row.iter().zip(&of.columns) { td .num[*figures] { (cell) } } }
                } }
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::numbers::{Curve, Level, Side};
    use plimsoll_model::verdict::Outcome;

    use super::*;

    fn page(numbers: Numbers) -> String {
        let verdict = Verdict::bare("modes", "value", Outcome::OneMode, 3, "why <b>");
        let judged_page = NumbersPage {
            title: "a<b>.txt",
            asked: "judge modes",
            verdict: Some(&verdict),
            numbers: &[("a<b>.txt".to_owned(), numbers)],
            facts: &[("dip".to_owned(), "0.1".to_owned())],
            tables: &[Rows {
                name: "Lines".into(),
                columns: vec![("line", true)],
                rows: vec![vec!["7".into()]],
            }],
            again: "plimsoll judge modes 'a<b>.txt'",
        };
        let mut out = Vec::new();
        judged(&mut out, &judged_page, Bundle::Beside).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_of_numbers_is_drawn_and_stands_in_a_table_and_no_name_is_more_than_text() {
        let side = |name: &str, beside| Side { name: name.into(), beside, values: vec![1.0, 2.0, 4.5] };
        let rows = [("new", "win", 1.0), ("new", "nt", 2.0), ("old", "win", 3.0), ("old", "nt", 4.5)];
        let row = |(server, client, value): (&str, &str, f64)| (vec![server.into(), client.into()], value);
        for numbers in [
            Numbers::Gathered { values: vec![1.0, 2.0, 4.5], modes: Vec::new() },
            Numbers::Series {
                values: vec![Some(1.0), None, Some(4.5)],
                levels: vec![Level { from: 0, to: 1, height: 1.0 }, Level { from: 1, to: 3, height: 4.5 }],
            },
            Numbers::Sides(vec![side("baseline", false), side("after", false), side("control", true)]),
            Numbers::Curve(Curve {
                x: "workers".into(),
                y: "time".into(),
                logarithmic: [true, true],
                legend: "measured",
                points: vec![[1.0, 2.0], [2.0, 4.5]],
                curves: vec![("linear".into(), vec![[1.0, 2.0], [2.0, 4.0]])],
            }),
            Numbers::Factors {
                factors: vec!["server".into(), "client".into()],
                rows: rows.into_iter().map(row).collect(),
            },
        ] {
            let page = page(numbers.clone());
            assert!(page.contains("data-figure="), "{numbers:?}");
            assert!(page.contains("4.5"), "{numbers:?}");
            assert!(!page.contains("a<b>") && !page.contains("why <b>"), "{numbers:?}");
        }
    }

    #[test]
    fn a_page_of_many_values_is_small_and_says_which_of_them_are_drawn() {
        let values = |n: u32| (0..n).map(|x| f64::from(x % 1000) + 0.123_456_789);
        let series = |n| Numbers::Series { values: values(n).map(Some).collect(), levels: Vec::new() };
        let gathered = |n| Numbers::Gathered { values: values(n).collect(), modes: Vec::new() };
        let cells = |n| {
            let rows = values(n).map(|value| (vec![((value as u32) % 3).to_string()], value)).collect();
            Numbers::Factors { factors: vec!["level".to_owned()], rows }
        };
        let pages = |n| [series(n), gathered(n), cells(n)].map(page);
        for many in pages(100_000) {
            assert!(many.len() < 200_000, "{}", many.len());
            assert!(many.contains("Of more than 2000 values"));
        }
        for few in pages(2000) {
            assert!(!few.contains("Of more than 2000 values"));
        }
    }

    #[test]
    fn nothing_to_draw_is_a_page_too() {
        let judged_page = NumbersPage {
            title: "a.txt",
            asked: "read",
            verdict: None,
            numbers: &[],
            facts: &[],
            tables: &[],
            again: "plimsoll import a.txt",
        };
        let mut out = Vec::new();
        judged(&mut out, &judged_page, Bundle::Beside).unwrap();
        assert!(!String::from_utf8(out).unwrap().contains("data-figure="));
    }
}
