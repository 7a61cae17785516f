//! Facts known so far, each with its source.

use serde_json::{Map, Value};

use super::super::SCHEMA;
use super::super::dmi::Dimm;
use super::super::pcie::PcieLink;

/// The parts of an inventory that some output had.
#[derive(Debug)]
pub(super) struct Facts {
    found: Map<String, Value>,
    conflicts: Vec<String>,
    program: String,
    /// The program that listed the memory modules: two lists of the same ones are not added up.
    dimms_from: Option<String>,
}

impl Facts {
    pub(super) fn new() -> Self {
        let found = Map::from_iter([("schema".to_owned(), SCHEMA.into())]);
        Self { found, conflicts: Vec::new(), program: String::new(), dimms_from: None }
    }

    /// Sets the program of the facts that follow.
    pub(super) fn read_from(&mut self, program: &str) {
        program.clone_into(&mut self.program);
    }

    /// Notes a value, if there is one. Always true, as the line was understood.
    pub(super) fn set(&mut self, path: &[&str], value: impl Into<Value>) -> bool {
        let value = value.into();
        if let Some((last, above)) = path.split_last() {
            let counts = self.table(above).entry(*last).or_insert_with(|| value.clone()).clone();
            if counts != value {
                let conflict = format!("{}: {counts} counts; {} says {value}", path.join("."), self.program);
                if !self.conflicts.contains(&conflict) {
                    self.conflicts.push(conflict);
                }
            }
        }
        true
    }

    /// Notes a value in place of an earlier one: a log reports changes.
    pub(super) fn replace(&mut self, path: &[&str], value: impl Into<Value>) -> bool {
        if let Some((last, above)) = path.split_last() {
            self.table(above).insert((*last).to_owned(), value.into());
        }
        true
    }

    /// As [`Self::set`], where there may be nothing to note.
    pub(super) fn set_some(&mut self, path: &[&str], value: Option<impl Into<Value>>) -> bool {
        value.is_some_and(|value| self.set(path, value))
    }

    /// Adds to a list.
    pub(super) fn push(&mut self, path: &[&str], value: Value) -> bool {
        if let Some((last, above)) = path.split_last()
            && let Value::Array(list) =
                self.table(above).entry(*last).or_insert_with(|| Value::Array(Vec::new()))
        {
            list.push(value);
        }
        true
    }

    /// The link of a PCI device, from `(giga-transfers, lanes)` as it is and as it could be.
    pub(super) fn link(&mut self, slot: &str, now: (f64, u64), most: (f64, u64)) {
        // A link has no value that JSON does not have.
        let link = serde_json::to_value(PcieLink::new(now, most)).unwrap_or_default();
        self.set(&["pci", slot, "link"], link);
    }

    /// A memory module.
    pub(super) fn dimm(&mut self, dimm: &Dimm) {
        let from = self.dimms_from.get_or_insert_with(|| self.program.clone());
        if *from == self.program {
            let dimm = serde_json::to_value(dimm).unwrap_or_default();
            self.push(&["memory", "dimms"], dimm);
        } else {
            let conflict = format!("memory.dimms: those of {from} count; {} lists modules too", self.program);
            if !self.conflicts.contains(&conflict) {
                self.conflicts.push(conflict);
            }
        }
    }

    pub(super) fn finish(self) -> (Map<String, Value>, Vec<String>) {
        (self.found, self.conflicts)
    }

    fn table(&mut self, path: &[&str]) -> &mut Map<String, Value> {
        let mut table = &mut self.found;
        for name in path {
            let inner = table.entry(*name).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = inner else { unreachable!("{name} has parts in an inventory") };
            table = inner;
        }
        table
    }
}
