//! A section of a page.

use maud::Markup;

/// A section: its anchor, its heading, and what is in it.
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) content: Markup,
}
