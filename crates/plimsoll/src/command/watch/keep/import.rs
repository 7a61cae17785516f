//! `plimsoll watch --keep --import`: weeks that another monitor kept, put into the file as if they had been seen.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_import::monitoring;
use plimsoll_report::escape::terminal;
use plimsoll_report::moment;
use plimsoll_store::weeks::Series;

use crate::failure::Failure;
use crate::keeping::{Keeper, summary};
use crate::{bounded, messages, output};

/// The most that a file may have: a dump of RRDtool takes 80 bytes for a value.
const LARGEST: u64 = 64 << 20;

/// Reads files, keeps their values, and prints the changes.
pub(super) fn run(keeper: &mut Keeper, files: &[String]) -> Result<(), Failure> {
    let mut series: BTreeMap<Series, Vec<(u64, f64)>> = BTreeMap::new();
    for file in files {
        for found in read(file)? {
            let name = Series { name: found.name, unit: found.unit.to_owned() };
            series.entry(name).or_default().extend(found.points);
        }
    }
    let kept_until = keeper.weeks().extent()?.map_or(0, |(_, last)| last);
    let seconds = by_second(&series, kept_until);
    let left_out = series.values().flatten().filter(|(at, _)| *at <= kept_until).count();
    if left_out > 0 {
        let (until, place) = (moment(kept_until), keeper.weeks().path().display());
        messages::note(format_args!(
            "{left_out} values are left out: {place} is kept up to {until}, and is only added to behind that"
        ));
    }
    for (at, values) in seconds {
        keeper.take(at, values)?;
    }
    keeper.end()?;
    let lines = summary(keeper.weeks())?;
    output::text(|out| lines.iter().try_for_each(|line| writeln!(out, "{}", terminal(line))))
}

fn read(file: &str) -> Result<Vec<monitoring::Monitored>, Failure> {
    let (name, path) = match file.split_once('=') {
        Some((name, path)) if !Path::new(file).exists() => (Some(name), Path::new(path)),
        _ => (None, Path::new(file)),
    };
    let text = bounded::text(path, LARGEST).map_err(|error| Failure::io("read", path, &error))?;
    monitoring::read(path, name, &text)
        .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// Values of each second behind a time.
fn by_second(series: &BTreeMap<Series, Vec<(u64, f64)>>, after: u64) -> BTreeMap<u64, Vec<(&Series, f64)>> {
    let mut seconds: BTreeMap<u64, Vec<(&Series, f64)>> = BTreeMap::new();
    for (name, points) in series {
        for (at, value) in points.iter().filter(|(at, _)| *at > after) {
            seconds.entry(*at).or_default().push((name, *value));
        }
    }
    seconds
}
