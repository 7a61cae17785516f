//! The board and its firmware, as the firmware names them (DMTF DSP0134, structures of types 0 and 2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// The board, and the firmware on it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Board {
    /// The board's maker.
    pub vendor: Option<String>,
    /// The board's name.
    pub name: Option<String>,
    /// The firmware's maker.
    pub firmware_vendor: Option<String>,
    /// The firmware's version.
    pub firmware_version: Option<String>,
    /// The firmware's date, as it writes it (`01/28/2015`).
    pub firmware_date: Option<String>,
}

pub(super) fn read(tree: &Tree<'_>) -> Board {
    let text = |file: &str| tree.text(format!("sys/class/dmi/id/{file}"));
    Board {
        vendor: text("board_vendor"),
        name: text("board_name"),
        firmware_vendor: text("bios_vendor"),
        firmware_version: text("bios_version"),
        firmware_date: text("bios_date"),
    }
}
