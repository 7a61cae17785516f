//! Colour and weight.

use anstyle::Style;

use crate::tone::Tone;

/// The heading of a section.
pub(super) const HEADING: Style = Style::new().bold();

/// Text that is there for comparison.
pub(super) const FAINT: Style = Style::new().dimmed();

/// A verdict's word.
pub(super) fn of(tone: Tone) -> Style {
    tone.ansi().on_default().bold()
}
