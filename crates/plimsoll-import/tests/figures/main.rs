//! Output of other tools, read as figures.
//!
//! `tests/samples` has the output of the tools themselves (`make.sh` makes it, `commands.tsv` has each command and version), and `tests/pages` has
//! pages in the style of what people post.

mod blocks;
mod damaged;
mod details;
mod headings;
mod mixed;
mod pages;
mod registry;
mod samples;
mod seeds;
mod stands_in;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_import::figures::{self, Figures, Options};

/// The folder of fixtures with this name.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A fixture, read as text.
fn text(folder_name: &str, name: &str) -> String {
    let path = folder(folder_name).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the fixtures in a folder, in order.
fn names(folder_name: &str) -> Vec<String> {
    let entries = fs::read_dir(folder(folder_name)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "make.sh" && name != "commands.tsv");
    names.sort();
    names
}

/// All figures of a text, without options.
fn read(text: &str) -> Figures {
    figures::read(text, &Options::default()).unwrap()
}

/// The only value of a series, and its unit.
fn value<'f>(found: &'f Figures, wanted: &str) -> (f64, &'f str) {
    let series = found.one(wanted).unwrap_or_else(|| panic!("no single `{wanted}` in {:#?}", found.series));
    match series.points.as_slice() {
        [point] => (point.value, series.unit.as_str()),
        points => panic!("{} values of `{wanted}`", points.len()),
    }
}

/// The values of a series.
fn values(found: &Figures, wanted: &str) -> Vec<f64> {
    found.one(wanted).unwrap_or_else(|| panic!("no single `{wanted}` in {:#?}", found.series)).values()
}
