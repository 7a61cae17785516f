//! Memory modules from the firmware's tables: SMBIOS reference specification (DMTF DSP0134), structure type 17.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// A memory module.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dimm {
    /// The slot's name on the board.
    pub slot: Option<String>,
    /// Its size, in bytes.
    pub size: u64,
    /// The maker.
    pub vendor: Option<String>,
    /// The maker's number of the part.
    pub part: Option<String>,
    /// Its capability, in mega-transfers a second.
    pub speed: Option<u64>,
    /// Its setting, in mega-transfers a second.
    pub configured_speed: Option<u64>,
}

const ENTRIES: &str = "sys/firmware/dmi/entries";

/// The modules that are in their slots; `None`, with a note, where the tables are not to be had.
pub(super) fn memory_devices(tree: &mut Tree<'_>) -> Option<Vec<Dimm>> {
    let entries = tree.names(ENTRIES);
    if entries.is_empty() {
        tree.miss(ENTRIES, "the firmware has no DMI tables, or the kernel does not show them".to_owned());
        return None;
    }
    let mut dimms = Vec::new();
    for entry in entries.iter().filter(|name| name.starts_with("17-")) {
        match tree.bytes(format!("{ENTRIES}/{entry}/raw")) {
            Ok(bytes) => dimms.extend(parse(&bytes)),
            Err(error) => {
                tree.miss(ENTRIES, format!("{error}: only root may read memory modules"));
                return None;
            }
        }
    }
    Some(dimms)
}

/// One structure; `None` for an empty slot and for what is cut.
fn parse(bytes: &[u8]) -> Option<Dimm> {
    let length = usize::from(*bytes.get(1)?);
    let structure = bytes.get(..length)?;
    let word = |at: usize| Some(u16::from_le_bytes(*structure.get(at..)?.first_chunk()?));
    let text = |at: usize| string(bytes.get(length..)?, *structure.get(at)?);
    let extended = || Some(u32::from_le_bytes(*structure.get(0x1c..)?.first_chunk()?) & 0x7fff_ffff);
    let size = match word(0x0c)? {
        // Not installed; not known.
        0 | 0xffff => return None,
        0x7fff => u64::from(extended()?) << 20,
        kilobytes if kilobytes & 0x8000 != 0 => u64::from(kilobytes & 0x7fff) << 10,
        megabytes => u64::from(megabytes) << 20,
    };
    let speed = |at: usize| word(at).filter(|&speed| speed != 0 && speed != 0xffff).map(u64::from);
    Some(Dimm {
        slot: text(0x10),
        size,
        vendor: text(0x17),
        part: text(0x1a),
        speed: speed(0x15),
        configured_speed: speed(0x20),
    })
}

/// The n-th of the texts behind a structure, each ended by a zero; the first is 1, and 0 is none.
fn string(texts: &[u8], number: u8) -> Option<String> {
    let text = texts.split(|&byte| byte == 0).nth(usize::from(number).checked_sub(1)?)?;
    let text = String::from_utf8_lossy(text).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A structure of 0x28 bytes with the given words, and texts behind it.
    fn structure(words: &[(usize, u16)], texts: &[&str]) -> Vec<u8> {
        let mut bytes = vec![0; 0x28];
        (bytes[0], bytes[1]) = (17, 0x28);
        for (at, word) in words {
            bytes[*at..at + 2].copy_from_slice(&word.to_le_bytes());
        }
        (bytes[0x10], bytes[0x17], bytes[0x1a]) = (1, 2, 3);
        for text in texts {
            bytes.extend(text.as_bytes());
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_module_is_read_with_its_texts_and_speeds() {
        let bytes = structure(
            &[(0x0c, 16_384), (0x15, 3200), (0x20, 2933)],
            &["DIMM A1", "Samsung ", "M393A2K40DB3"],
        );
        let expected = Dimm {
            slot: Some("DIMM A1".to_owned()),
            size: 16 << 30,
            vendor: Some("Samsung".to_owned()),
            part: Some("M393A2K40DB3".to_owned()),
            speed: Some(3200),
            configured_speed: Some(2933),
        };
        assert_eq!(parse(&bytes), Some(expected));
    }

    #[test]
    fn large_modules_use_the_extended_size() {
        let dimm = parse(&structure(&[(0x0c, 0x7fff), (0x1c, 0), (0x1e, 1)], &[])).expect("a module");
        assert_eq!((dimm.size, dimm.vendor), (65_536 << 20, None));
    }

    #[test]
    fn empty_slots_and_cut_structures_are_no_modules() {
        assert_eq!(parse(&structure(&[(0x0c, 0)], &[])), None);
        let whole = structure(&[(0x0c, 16_384)], &["a", "b", "c"]);
        for length in 0..0x28 {
            assert_eq!(parse(&whole[..length]), None);
        }
        for length in 0..=255 {
            let mut wrong = whole.clone();
            wrong[1] = length;
            parse(&wrong);
        }
    }
}
