//! A table in columns of even width.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::{Page, style};
use crate::escape::terminal;
use crate::section::{Align, Column, Table};

/// Between two columns.
const GAP: usize = 2;
/// A text is not made shorter than this.
const SHORTEST: usize = 12;

/// Whether the columns are named that a narrow page has no room for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    Named,
    Silent,
}

/// Writes the rows below the titles. Columns with nothing in any row are not written. Where the table is too wide, expendable columns
/// are hidden, which is said with the width that shows them; then texts are made shorter; and what is still too wide goes on in a
/// further block of lines, each of which begins with the columns that name the row.
pub(super) fn write(page: &mut Page<'_>, table: &Table, on_hidden: Hidden) -> io::Result<()> {
    let columns = table.columns.as_slice();
    let mut rows: Vec<(Vec<String>, bool)> = table
        .rows
        .iter()
        .map(|r| (r.cells.iter().map(|c| terminal(c).into_owned()).collect(), r.faint))
        .collect();
    let mut widths: Vec<usize> = (0..columns.len())
        .map(|i| rows.iter().map(|(c, _)| c[i].width()).max().unwrap_or(0).max(columns[i].title.width()))
        .collect();
    let mut shown = table.used();
    let wanted = total(&widths, &shown);
    let mut hidden = Vec::new();
    while total(&widths, &shown) > page.width {
        let Some(&last) =
            shown.iter().filter(|&&i| columns[i].expendable > 0).max_by_key(|&&i| columns[i].expendable)
        else {
            break;
        };
        shown.retain(|&i| i != last);
        hidden.push(last);
    }
    shorten(columns, &mut rows, &mut widths, &shown, page.width);
    for block in blocks(columns, &widths, &shown, page.width) {
        if columns.iter().any(|c| !c.title.is_empty()) {
            let titles: Vec<String> = columns.iter().map(|c| c.title.to_owned()).collect();
            page.out.styled(style::FAINT, &line(&titles, columns, &widths, &block))?;
            writeln!(page.out)?;
        }
        for (cells, faint) in &rows {
            let line = line(cells, columns, &widths, &block);
            let style = if *faint { style::FAINT } else { Style::new() };
            page.out.styled(style, &line)?;
            writeln!(page.out)?;
        }
    }
    if !hidden.is_empty() && on_hidden == Hidden::Named {
        hidden.sort_unstable();
        let names: Vec<&str> = hidden.iter().map(|&i| columns[i].title).collect();
        page.item(&format!("(hidden columns: {}; {wanted} columns of text show them)", names.join(", ")))?;
    }
    Ok(())
}

/// How wide some columns are together.
fn total(widths: &[usize], shown: &[usize]) -> usize {
    shown.iter().map(|&i| widths[i] + GAP).sum()
}

/// The columns in blocks that are narrow enough. Every block begins with those that name the row: the first texts of a row and what
/// stands before them, or its first figure. A column that is too wide by itself has a block of its own.
fn blocks(columns: &[Column], widths: &[usize], shown: &[usize], room: usize) -> Vec<Vec<usize>> {
    let text = |i: &usize| columns[*i].align == Align::Left;
    let first = shown.iter().position(text).filter(|&place| place < 2);
    let named = first.map_or(1, |place| place + shown[place..].iter().take_while(|i| text(i)).count());
    let (names, rest) = shown.split_at(named.min(shown.len()));
    let mut blocks = vec![names.to_vec()];
    for &column in rest {
        let last = blocks.last_mut().expect("there is a block from the beginning");
        if last.len() > names.len() && total(widths, last) + widths[column] + GAP > room {
            blocks.push([names, &[column]].concat());
        } else {
            last.push(column);
        }
    }
    blocks
}

/// Where what must stay is still too wide, takes from the middle of the widest columns of text what is too much, so that long ones end equally wide: names
/// of counters differ at their ends.
fn shorten(
    columns: &[Column],
    rows: &mut [(Vec<String>, bool)],
    widths: &mut [usize],
    shown: &[usize],
    room: usize,
) {
    let text: Vec<usize> = shown.iter().copied().filter(|&i| columns[i].align == Align::Left).collect();
    for _ in 0..total(widths, shown).saturating_sub(room) {
        let long = text.iter().copied().filter(|&i| widths[i] > SHORTEST.max(columns[i].title.width()));
        let Some(widest) = long.max_by_key(|&i| widths[i]) else { break };
        widths[widest] -= 1;
    }
    for (cells, _) in rows {
        for &i in &text {
            if cells[i].width() <= widths[i] {
                continue;
            }
            let chars: Vec<char> = cells[i].chars().collect();
            let end = (widths[i] - 1) / 2;
            let start = widths[i] - 1 - end;
            let kept = |chars: &[char]| chars.iter().collect::<String>();
            cells[i] = format!("{}…{}", kept(&chars[..start]), kept(&chars[chars.len() - end..]));
        }
    }
}

fn line(cells: &[String], columns: &[Column], widths: &[usize], shown: &[usize]) -> String {
    let mut line = String::new();
    for &i in shown {
        let space = " ".repeat(widths[i].saturating_sub(cells[i].width()));
        line.push_str(&" ".repeat(GAP));
        match columns[i].align {
            Align::Left => line.extend([cells[i].as_str(), &space]),
            Align::Right => line.extend([space.as_str(), &cells[i]]),
        }
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::{left, right};

    #[test]
    fn two_sides_that_are_lists_stay_in_one_block_and_end_equally_wide() {
        let columns = [left("phase"), left("A"), right("value"), left("B")];
        let list =
            |end: &str| format!("command = [\"python3\",\"-c\",\"print(sum(range(1000)))\",\"{end}\"]");
        let cells = vec!["work".to_owned(), list("one"), "286".to_owned(), list("another")];
        let mut widths: Vec<usize> =
            cells.iter().zip(&columns).map(|(cell, column)| cell.width().max(column.title.width())).collect();
        let (mut rows, shown) = (vec![(cells, false)], vec![0, 1, 2, 3]);
        shorten(&columns, &mut rows, &mut widths, &shown, 80);
        assert_eq!((total(&widths, &shown), widths[1].abs_diff(widths[3])), (80, 0));
        assert_eq!(blocks(&columns, &widths, &shown, 80).len(), 1);
        let cells = &rows[0].0;
        assert_eq!((cells[0].as_str(), cells[2].as_str()), ("work", "286"));
        assert!(cells[1].starts_with("command = ") && cells[1].ends_with("one\"]"), "{}", cells[1]);
        assert!(cells[3].ends_with("another\"]") && cells[3].width() == widths[3], "{}", cells[3]);
    }
}
