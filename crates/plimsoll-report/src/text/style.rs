//! Colour and weight.

use anstyle::{AnsiColor, Style};
use plimsoll_model::verdict::Standing;

/// The heading of a section.
pub(super) const HEADING: Style = Style::new().bold();

/// Text that is there for comparison.
pub(super) const FAINT: Style = Style::new().dimmed();

/// A verdict's word: green holds, red fails, yellow is open.
pub(super) fn of(standing: Standing) -> Style {
    let color = match standing {
        Standing::Holds => AnsiColor::Green,
        Standing::Fails => AnsiColor::Red,
        Standing::Open => AnsiColor::Yellow,
    };
    color.on_default().bold()
}
