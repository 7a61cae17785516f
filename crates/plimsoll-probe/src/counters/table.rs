//! Values in slots, so that a reading touches no map and formats no name once it has seen a file's lines.

use std::collections::BTreeMap;

/// All values that were ever read, each in a slot of its own with its name.
#[derive(Debug, Default)]
pub(super) struct Table {
    names: Vec<String>,
    values: Vec<f64>,
    /// The reading in which a slot was last written; 0 for never.
    written: Vec<u64>,
    /// The last value of a slot in the series; NaN before the first.
    given: Vec<f64>,
    /// Value of a slot when all were marked last; NaN when it was not part of that reading.
    marked: Vec<f64>,
    /// Slots in the order of their names, so that a map is built from sorted input.
    sorted: Vec<usize>,
    reading: u64,
    /// The last reading before the series began.
    series: u64,
}

impl Table {
    /// Begins a reading: what is not written from now on is not part of it.
    pub(super) fn begin(&mut self) {
        self.reading += 1;
    }

    /// Sets a slot.
    pub(super) fn set(&mut self, slot: usize, value: f64) {
        self.values[slot] = value;
        self.written[slot] = self.reading;
    }

    /// Sets a value by name: for readings too rare to keep slots for.
    pub(super) fn set_named(&mut self, name: &str, value: f64) {
        self.sort();
        let slot = match self.place(name) {
            Ok(at) => self.sorted[at],
            Err(at) => {
                let slot = self.add(vec![name.to_owned()]);
                self.sorted.insert(at, slot);
                slot
            }
        };
        self.set(slot, value);
    }

    /// A value of this reading.
    pub(super) fn value(&mut self, name: &str) -> Option<f64> {
        self.sort();
        let at = self.place(name).ok()?;
        let slot = self.sorted[at];
        (self.written[slot] == self.reading).then(|| self.values[slot])
    }

    /// Where a name stands or would stand among the sorted ones.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.sorted.binary_search_by(|&slot| self.names[slot].as_str().cmp(name))
    }

    /// Sets all values to 0 whose names start so: for those that are only spoken of where there are any.
    pub(super) fn zero(&mut self, prefix: &str) {
        for slot in 0..self.names.len() {
            if self.names[slot].starts_with(prefix) {
                self.set(slot, 0.0);
            }
        }
    }

    /// Makes adjoining slots of these names; gives the first.
    fn add(&mut self, names: Vec<String>) -> usize {
        let first = self.names.len();
        self.names.extend(names);
        self.values.resize(self.names.len(), 0.0);
        self.written.resize(self.names.len(), 0);
        self.given.resize(self.names.len(), f64::NAN);
        self.marked.resize(self.names.len(), f64::NAN);
        first
    }

    fn sort(&mut self) {
        if self.sorted.len() != self.names.len() {
            self.sorted = (0..self.names.len()).collect();
            self.sorted.sort_by(|&a, &b| self.names[a].cmp(&self.names[b]));
        }
    }

    /// Everything written in this reading.
    pub(super) fn all(&mut self) -> BTreeMap<String, f64> {
        self.sort();
        let fresh = self.sorted.iter().filter(|&&slot| self.written[slot] == self.reading);
        fresh.map(|&slot| (self.names[slot].clone(), self.values[slot])).collect()
    }

    /// Everything written in this reading whose value is another than the one last given out by this function.
    pub(super) fn changes(&mut self) -> BTreeMap<String, f64> {
        self.sort();
        let mut changes = Vec::new();
        for &slot in &self.sorted {
            let value = self.values[slot];
            // NaN marks a value that was never reported: it differs from everything.
            if self.written[slot] == self.reading && self.given[slot] != value {
                self.given[slot] = value;
                changes.push((self.names[slot].clone(), value));
            }
        }
        changes.into_iter().collect()
    }

    /// Remembers this reading.
    pub(super) fn mark(&mut self) {
        for (slot, marked) in self.marked.iter_mut().enumerate() {
            *marked = if self.written[slot] == self.reading { self.values[slot] } else { f64::NAN };
        }
    }

    /// Changes of this reading since the marked one, of values in both.
    pub(super) fn changes_since_mark(&self) -> BTreeMap<String, f64> {
        let written = (0..self.names.len()).filter(|&slot| self.written[slot] == self.reading);
        let changes = written.map(|slot| (slot, self.values[slot] - self.marked[slot]));
        let changed = changes.filter(|(_, change)| !change.is_nan() && *change != 0.0);
        changed.map(|(slot, change)| (self.names[slot].clone(), change)).collect()
    }

    /// Everything written since the series began.
    pub(super) fn all_since_series(&mut self) -> BTreeMap<String, f64> {
        self.sort();
        let written = self.sorted.iter().filter(|&&slot| self.written[slot] > self.series);
        written.map(|&slot| (self.names[slot].clone(), self.values[slot])).collect()
    }

    /// Begins a series: forgets what [`Self::changes`] has given out, so that its next call gives everything.
    pub(super) fn begin_series(&mut self) {
        self.given.fill(f64::NAN);
        self.series = self.reading;
    }
}

/// Where the lines of one file have their slots. A file's lines rarely change, so the line that is due is nearly always the
/// one that comes.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    due: usize,
}

#[derive(Debug)]
struct Row {
    key: Vec<u8>,
    first: usize,
    len: usize,
}

impl Rows {
    /// Back to the first line.
    pub(super) fn rewind(&mut self) {
        self.due = 0;
    }

    /// Sets the values of the line that `key` names in its file. `names` is called when the line is new.
    /// A name without a value (`None`, or fewer values than names) is not part of the reading.
    pub(super) fn set(
        &mut self,
        table: &mut Table,
        key: &[u8],
        names: impl FnOnce() -> Vec<String>,
        values: impl Iterator<Item = Option<f64>>,
    ) {
        let at = self.find(key).unwrap_or_else(|| {
            let names = names();
            let len = names.len();
            self.rows.push(Row { key: key.to_vec(), first: table.add(names), len });
            self.rows.len() - 1
        });
        self.due = at + 1;
        let row = &self.rows[at];
        for (slot, value) in (row.first..row.first + row.len).zip(values) {
            if let Some(value) = value {
                table.set(slot, value);
            }
        }
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        let is = |row: &Row| row.key == key;
        if self.rows.get(self.due).is_some_and(is) {
            return Some(self.due);
        }
        self.rows.iter().position(is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(rows: &mut Rows, table: &mut Table, key: &str, value: f64) {
        rows.set(table, key.as_bytes(), || vec![key.to_owned()], std::iter::once(Some(value)));
    }

    #[test]
    fn lines_that_come_go_and_change_places_keep_their_names() {
        let (mut table, mut rows) = (Table::default(), Rows::default());
        table.begin();
        for (key, value) in [("b", 1.0), ("a", 2.0), ("c", 3.0)] {
            one(&mut rows, &mut table, key, value);
        }
        table.begin();
        rows.rewind();
        for (key, value) in [("c", 30.0), ("d", 40.0), ("b", 10.0)] {
            one(&mut rows, &mut table, key, value);
        }
        let expected: BTreeMap<_, _> =
            [("b", 10.0), ("c", 30.0), ("d", 40.0)].map(|(name, value)| (name.to_owned(), value)).into();
        assert_eq!(table.all(), expected);
    }

    #[test]
    fn changes_hold_only_what_moved_since_they_were_last_asked_for() {
        let mut table = Table::default();
        table.begin();
        table.set_named("still", 5.0);
        table.set_named("moves", 1.0);
        assert_eq!(table.changes().len(), 2);
        table.begin();
        table.set_named("still", 5.0);
        table.set_named("moves", 2.0);
        assert_eq!(table.changes(), [("moves".to_owned(), 2.0)].into());
        assert_eq!(table.all().len(), 2);
        table.begin_series();
        assert_eq!(table.changes().len(), 2);
    }

    #[test]
    fn what_changed_since_it_was_marked_leaves_out_what_came_and_what_went() {
        fn read(table: &mut Table, values: &[(&str, f64)]) -> BTreeMap<String, f64> {
            table.begin();
            values.iter().for_each(|(name, value)| table.set_named(name, *value));
            table.changes_since_mark()
        }
        let mut table = Table::default();
        assert!(read(&mut table, &[("still", 5.0)]).is_empty(), "nothing was marked");
        table.mark();
        assert!(read(&mut table, &[("still", 5.0), ("comes", 1.0)]).is_empty());
        let fell = BTreeMap::from([("still".to_owned(), -2.0)]);
        assert_eq!(read(&mut table, &[("still", 3.0), ("comes", 9.0)]), fell);
        assert!(read(&mut table, &[("comes", 9.0)]).is_empty());
        table.mark();
        let rose = BTreeMap::from([("comes".to_owned(), 3.0)]);
        assert_eq!(read(&mut table, &[("still", 7.0), ("comes", 12.0)]), rose);
    }

    #[test]
    fn a_line_with_fewer_values_than_names_leaves_the_rest_out() {
        let (mut table, mut rows) = (Table::default(), Rows::default());
        table.begin();
        let names = || vec!["x".to_owned(), "y".to_owned(), "z".to_owned()];
        rows.set(&mut table, b"k", names, [Some(1.0), None].into_iter());
        assert_eq!(table.all(), [("x".to_owned(), 1.0)].into());
    }
}
