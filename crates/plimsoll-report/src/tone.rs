//! The colour of each outcome, in text, on pages and on screens: one table for all of them.

use anstyle::{Ansi256Color, AnsiColor};
use plimsoll_model::verdict::{Outcome, Standing};

/// Meaning of an outcome to a reader, whether it was expected or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Tone {
    /// As good as before, or better.
    Good,
    /// Worse.
    Bad,
    /// An answer that is neither: the same, or a property of the figures.
    Neutral,
    /// Not decided yet.
    Open,
    /// The measurement carries no answer.
    Invalid,
}

impl Tone {
    /// Tone of an outcome.
    #[must_use]
    pub const fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Recovered
            | Outcome::Faster
            | Outcome::Delivered
            | Outcome::Reached
            | Outcome::Held
            | Outcome::Confirmed => Self::Good,
            Outcome::NotRecovered
            | Outcome::Slower
            | Outcome::NotDelivered
            | Outcome::NotReached
            | Outcome::NotHeld
            | Outcome::NotConfirmed => Self::Bad,
            Outcome::Same
            | Outcome::OneMode
            | Outcome::SeveralModes
            | Outcome::Interaction
            | Outcome::Additive
            | Outcome::Changed
            | Outcome::Unchanged
            | Outcome::Estimated => Self::Neutral,
            Outcome::TooFew | Outcome::Undecided => Self::Open,
            Outcome::Invalid => Self::Invalid,
        }
    }

    /// Tone of an outcome by its name. A later version may have stored one that is not known here.
    #[must_use]
    pub fn named(outcome: &str) -> Self {
        Outcome::ALL.iter().copied().find(|known| known.name() == outcome).map_or(Self::Open, Self::of)
    }

    /// Tone of several claims together.
    pub(crate) const fn of_standing(standing: Standing) -> Self {
        match standing {
            Standing::Holds => Self::Good,
            Standing::Fails => Self::Bad,
            Standing::Open => Self::Open,
        }
    }

    /// The class that has this colour in the style sheet.
    pub fn class(self) -> &'static str {
        self.into()
    }

    pub(crate) const fn ansi(self) -> AnsiColor {
        match self {
            Self::Good => AnsiColor::Green,
            Self::Bad => AnsiColor::Red,
            Self::Neutral => AnsiColor::Blue,
            Self::Open => AnsiColor::Yellow,
            Self::Invalid => AnsiColor::Magenta,
        }
    }

    /// The number of the colour on a terminal.
    pub const fn ansi_index(self) -> u8 {
        Ansi256Color::from_ansi(self.ansi()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheet_has_each_colour_and_an_outcome_has_one_whatever_is_expected_of_it() {
        let style = crate::html::served::style();
        for &outcome in Outcome::ALL {
            let tone = Tone::of(outcome);
            assert!(style.contains(&format!(".{} {{ --standing: var(--", tone.class())), "{tone:?}");
            assert_eq!(Tone::named(outcome.name()), tone);
        }
        let opposites = [(Outcome::Faster, Outcome::Slower), (Outcome::Recovered, Outcome::NotRecovered)];
        assert!(opposites.iter().all(|(good, bad)| Tone::of(*good).ansi() != Tone::of(*bad).ansi()));
        assert_eq!(Tone::named("of a later version"), Tone::Open);
    }
}
