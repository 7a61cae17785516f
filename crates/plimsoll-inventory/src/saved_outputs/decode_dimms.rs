//! `decode-dimms` of i2c-tools: what memory modules say of themselves (SPD).

use super::super::dmi::Dimm;
use super::known::Facts;
use super::{Reader, leading, size};

#[derive(Default)]
pub(super) struct DecodeDimms {
    dimm: Option<Dimm>,
}

impl Reader for DecodeDimms {
    fn begins(line: &str) -> bool {
        line.starts_with("# decode-dimms") || line.starts_with("Decoding EEPROM")
    }

    fn line(&mut self, line: &str, known: &mut Facts) -> bool {
        if line.starts_with("Decoding EEPROM") {
            self.close(known);
            self.dimm = Some(Dimm::default());
            return true;
        }
        let Some(dimm) = &mut self.dimm else { return false };
        // Name and value stand in columns, with two blanks or more between them.
        let Some((key, value)) = line.split_once("  ").map(|(key, value)| (key.trim(), value.trim())) else {
            return false;
        };
        match key {
            "Guessing DIMM is in" => dimm.slot = Some(value.to_owned()),
            "Size" => dimm.size = size(value).unwrap_or(0),
            "Module Manufacturer" | "Manufacturer" => dimm.vendor = Some(value.to_owned()),
            "Part Number" if value != "Undefined" => dimm.part = Some(value.to_owned()),
            // MHz, by which the program means transfers; newer versions say MT/s.
            "Maximum module speed" => {
                dimm.speed = leading(value).filter(|&speed| speed >= 1.0).map(|speed| speed as u64);
            }
            _ => return false,
        }
        true
    }

    fn end(mut self, known: &mut Facts) {
        self.close(known);
    }
}

impl DecodeDimms {
    fn close(&mut self, known: &mut Facts) {
        if let Some(dimm) = self.dimm.take().filter(|dimm| dimm.size > 0) {
            known.dimm(&dimm);
        }
    }
}
