//! Output of RRDtool: the XML of `rrdtool dump` (rrddump(1)), and the table of `rrdtool fetch` (rrdfetch(1)).

use super::{Columns, MOST_VALUES, MonitoringError};

/// Values of coarse archives stand for this long at most: hours are what is searched.
const LONGEST: u64 = 3600;

/// Reads a dump: averages alone, each from the finest archive that reaches so far back.
pub(super) fn dump(text: &str) -> Result<Columns, MonitoringError> {
    let (head, archives) = text.split_once("<rra>").ok_or(MonitoringError::Empty)?;
    let names: Vec<&str> =
        head.split("<ds>").skip(1).filter_map(|source| element(source, "name")).map(str::trim).collect();
    let whole = |text: &str, name| element(text, name).and_then(|text| text.trim().parse::<u64>().ok());
    let (Some(step), Some(updated)) = (whole(head, "step"), whole(head, "lastupdate")) else {
        return Err(MonitoringError::Line { line: 1, what: "expected <step> and <lastupdate> in <rrd>" });
    };
    let mut columns: Columns = names.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
    let averages = archives.split("<rra>").filter(|archive| element(archive, "cf") == Some("AVERAGE"));
    let rows = |archive| Some((step.checked_mul(whole(archive, "pdp_per_row")?)?, archive));
    let mut averages: Vec<(u64, &str)> = averages.filter_map(rows).filter(|(each, _)| *each > 0).collect();
    averages.sort_by_key(|(each, _)| *each);
    let (mut earliest, mut values) = (u64::MAX, 0_u64);
    for (each, archive) in averages {
        let rows: Vec<&str> = archive.split("<row>").skip(1).collect();
        // The last row ends at the last multiple of its length.
        let end = updated - updated % each;
        let times = (0..rows.len() as u64).rev().map(|back| end.saturating_sub(back.saturating_mul(each)));
        let before = earliest;
        for (at, row) in times.zip(rows) {
            for ((_, points), value) in columns.iter_mut().zip(row.split("<v>").skip(1)) {
                let value = value.split('<').next().and_then(|value| value.trim().parse::<f64>().ok());
                let Some(value) = value.filter(|value| value.is_finite()) else { continue };
                // A row stands for the time up to its own.
                let hours = each.div_ceil(LONGEST);
                values = values.saturating_add(hours);
                if values > MOST_VALUES {
                    return Err(MonitoringError::TooMany);
                }
                let parts = (0..hours).map(|n| at.saturating_sub(1 + n * LONGEST));
                points.extend(parts.filter(|at| *at < before).map(|at| (at, value)));
                earliest = earliest.min(at.saturating_sub(each));
            }
        }
    }
    Ok(columns)
}

/// The text of the first element of this name.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once("</")?.0)
}

/// Reads the table of `rrdtool fetch`: names in the first line, then a time with a value for each.
pub(super) fn fetch(text: &str) -> Result<Columns, MonitoringError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, heading) = lines.next().ok_or(MonitoringError::Unknown)?;
    let mut columns: Columns = heading.split_whitespace().map(|name| (name.to_owned(), Vec::new())).collect();
    for (index, line) in lines {
        let wrong = |what| {
            if index < 3 { MonitoringError::Unknown } else { MonitoringError::Line { line: index + 1, what } }
        };
        let (at, values) = line.split_once(':').ok_or_else(|| wrong("expected a time and a colon"))?;
        let at: u64 = at.trim().parse().map_err(|_| wrong("expected seconds since 1970 before the colon"))?;
        let mut values = values.split_whitespace();
        for (_, points) in &mut columns {
            let value = values.next().and_then(|value| value.parse().ok());
            points.push((
                at.saturating_sub(1),
                value.ok_or_else(|| wrong("expected a number for each column"))?,
            ));
        }
    }
    let has_rows = columns.iter().any(|(_, points)| !points.is_empty());
    if has_rows { Ok(columns) } else { Err(MonitoringError::Unknown) }
}
