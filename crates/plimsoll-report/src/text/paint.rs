//! Colour and weight, or none.

use anstyle::{AnsiColor, Style};
use plimsoll_model::verdict::Standing;

/// Paints text when it may.
#[derive(Clone, Copy)]
pub(super) struct Painter {
    color: bool,
}

impl Painter {
    pub(super) fn new(color: bool) -> Self {
        Self { color }
    }

    /// A verdict's word: green holds, red fails, yellow is open.
    pub(super) fn standing(self, text: &str, standing: Standing) -> String {
        let color = match standing {
            Standing::Holds => AnsiColor::Green,
            Standing::Fails => AnsiColor::Red,
            Standing::Open => AnsiColor::Yellow,
        };
        self.with(color.on_default().bold(), text)
    }

    /// The heading of a section.
    pub(super) fn heading(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// What is there for comparison.
    pub(super) fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.into() }
    }
}
