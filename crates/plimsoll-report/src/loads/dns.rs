//! Fate of questions of DNS.

use plimsoll_model::experiment::load::dns::DnsFacts;
use plimsoll_model::report::RunReport;

use super::{LoadFigures, Shown, by_phase};
use crate::number::{NONE, count, figure};
use crate::section::{Section, columns};

impl Shown for DnsFacts {
    const TITLE: &'static str = "DNS replies";

    fn sections(_report: &RunReport, found: &[LoadFigures<'_, Self>]) -> Vec<Section> {
        let columns = columns![
            right "replies", right "NOERROR %", right "NXDOMAIN %", right "SERVFAIL %",
            right "other %" => 2, right "truncated %", right "sent again" => 1, right "not asked for" => 3,
        ];
        by_phase(found, columns, |facts| {
            let all = facts.replies();
            let share = |number: u64| match all {
                0 => NONE.to_owned(),
                all => figure(number as f64 / all as f64 * 100.0),
            };
            let known = ["NOERROR", "NXDOMAIN", "SERVFAIL"].map(|code| facts.with(code));
            let [noerror, nxdomain, servfail] = known.map(share);
            vec![
                count(all),
                noerror,
                nxdomain,
                servfail,
                share(all - known.iter().sum::<u64>()),
                share(facts.truncated),
                count(facts.resent),
                count(facts.unasked),
            ]
        })
    }
}
