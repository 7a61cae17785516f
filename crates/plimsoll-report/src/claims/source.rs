//! Where what was read came from.

use plimsoll_model::experiment::claim::source::{SourceClaim, SourceDetails};

use super::{Judged, Shown};
use crate::number::figure;
use crate::section::{Row, Section, Table, left, right};
use crate::wording;

impl Shown for SourceClaim {
    type Details = SourceDetails;
    const TITLE: &'static str = "Source";

    fn basis(found: &[Judged<'_, Self::Details>]) -> Option<Table> {
        let columns = [left("phase"), left("cell"), right("read MB"), right("from the device MB")];
        let rows = found.iter().map(|found| {
            let bytes = [found.details.read_bytes, found.details.device_read_bytes];
            let name = [found.details.phase.clone(), wording::cell_title(&found.details.cell)];
            let megabytes = bytes.map(|bytes| figure(bytes as f64 / 1e6));
            Row::of(name.into_iter().chain(megabytes).collect::<Vec<_>>())
        });
        Section::new("").table(columns, rows).first_table()
    }
}
