//! Fate of mail.

use plimsoll_model::experiment::claim::delivery::{DeliveryClaim, DeliveryDetails};

use super::{Judged, Shown};
use crate::number::count;
use crate::section::{Row, Section, Table, columns};
use crate::wording;

impl Shown for DeliveryClaim {
    type Details = DeliveryDetails;
    const TITLE: &'static str = "Delivery";

    fn basis(found: &[Judged<'_, Self::Details>]) -> Option<Table> {
        let columns = columns![
            left "sink", left "cell", right "acknowledged", right "arrived", right "lost", right "twice",
            right "corrupted",
        ];
        let rows = found.iter().map(|found| {
            let mail = found.details;
            let counts =
                [mail.acknowledged, mail.arrived, mail.lost, mail.doubled, mail.corrupted].map(count);
            let name = [mail.sink.clone(), wording::cell_title(&mail.cell)];
            Row::of(name.into_iter().chain(counts).collect::<Vec<_>>())
        });
        Section::new("").table(columns, rows).first_table()
    }
}
