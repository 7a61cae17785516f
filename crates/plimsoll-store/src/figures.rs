//! Figures of runs that are followed from run to run.

use super::{Store, StoreError, schema};
use crate::database::{DatabaseError, values};

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of the figure, the same in each run of the experiment.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The figure.
    pub value: f64,
    /// Its interval, where it has one.
    pub interval: Option<(f64, f64)>,
}

/// A figure of a run, with the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Dated {
    /// The run's id.
    pub run: String,
    /// When it started, in seconds since 1970 (UTC).
    pub started_unix_s: u64,
    /// The figure.
    pub figure: Figure,
}

impl Store {
    /// Stores the figures of a run in place of those that it had.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_figures(&self, run: &str, figures: &[Figure]) -> Result<(), StoreError> {
        let store = || -> Result<(), DatabaseError> {
            self.database.execute(schema::FORGET_FIGURES, values![run])?;
            for (place, Figure { name, unit, value, interval }) in (0_i64..).zip(figures) {
                let (low, high) = interval.unzip();
                self.database
                    .execute(schema::PUT_FIGURE, values![run, place, name, unit, *value, low, high])?;
            }
            Ok(())
        };
        self.database.whole(store).map_err(self.doing("store the figures"))
    }

    /// The figures of all runs of an experiment that came to their end, the oldest run first.
    pub(crate) fn figures(&self, experiment: &str) -> Result<Vec<Dated>, StoreError> {
        let ask = || {
            self.rows(schema::FIGURES, values![experiment], |row| -> Result<_, DatabaseError> {
                let (low, high): (Option<f64>, Option<f64>) = (row.get(5)?, row.get(6)?);
                Ok(Dated {
                    run: row.get(0)?,
                    started_unix_s: row.get(1)?,
                    figure: Figure {
                        name: row.get(2)?,
                        unit: row.get(3)?,
                        value: row.get(4)?,
                        interval: low.zip(high),
                    },
                })
            })
        };
        ask().map_err(self.doing("read the figures"))
    }

    /// For each figure the runs of an experiment that came to their end, the oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn figures_by_name(&self, experiment: &str) -> Result<Vec<Vec<Dated>>, StoreError> {
        let mut found: Vec<Vec<Dated>> = Vec::new();
        for dated in self.figures(experiment)? {
            match found.iter_mut().find(|runs| runs[0].figure.name == dated.figure.name) {
                Some(runs) => runs.push(dated),
                None => found.push(vec![dated]),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::RunStatus;

    use super::*;
    use crate::RunEntry;
    use crate::tests::{entry, on_both};

    on_both! { fn figures_come_back_in_order_of_time_and_go_with_their_run(store) {
        for (id, at) in [("bbbb", 20), ("aaaa", 10), ("cccc", 30)] {
            store.put_run(&RunEntry { status: RunStatus::Complete, ..entry(id, at) }).unwrap();
        }
        let figure = |value: f64| Figure {
            name: "baseline: conn/s".into(),
            unit: "1/s".into(),
            value,
            interval: Some((value - 1.0, value + 1.0)),
        };
        store.put_figures("bbbb", &[figure(2.0)]).unwrap();
        store.put_figures("aaaa", &[figure(7.0), figure(8.0)]).unwrap();
        store.put_figures("aaaa", &[figure(1.0)]).unwrap();
        let found = store.figures("flood-relay").unwrap();
        assert_eq!(found.iter().map(|it| it.figure.value).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!(found[1].figure, figure(2.0));
        store.remove_run("aaaa").unwrap();
        assert_eq!(store.figures("flood-relay").unwrap().len(), 1);
    }}
}
