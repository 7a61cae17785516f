//! Expected outcomes of a claim: those with which it holds.

use crate::verdict::Outcome;

/// Expected outcome of a claim of one kind.
pub trait Expectation {
    /// The public name, as in the file.
    fn name(self) -> &'static str;

    /// Whether a claim holds with this outcome. Says nothing of outcomes that leave it open.
    fn holds_with(self, outcome: Outcome) -> bool;
}

/// One type for each kind of claim whose outcome has sides; the first variant is the default.
macro_rules! expectations {
    ($(#[$doc:meta])* $kind:ident {
        $(#[$first_doc:meta])* $first:ident $first_name:literal: $($first_outcome:ident)|+,
        $($(#[$other_doc:meta])* $other:ident $other_name:literal: $($outcome:ident)|+,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $kind {
            $(#[$first_doc])*
            #[default]
            $first,
            $($(#[$other_doc])* $other,)+
        }

        impl $kind {
            /// Every one of them, the default first.
            pub const ALL: &'static [Self] = &[Self::$first, $(Self::$other,)+];
        }

        impl From<$kind> for $crate::verdict::Expected {
            fn from(expect: $kind) -> Self {
                match expect {
                    $kind::$first => Self { name: $first_name, outcomes: &[$($crate::verdict::Outcome::$first_outcome,)+] },
                    $($kind::$other => Self {
                        name: $other_name,
                        outcomes: &[$($crate::verdict::Outcome::$outcome,)+],
                    },)+
                }
            }
        }

        impl $crate::experiment::Expectation for $kind {
            fn name(self) -> &'static str {
                $crate::verdict::Expected::from(self).name
            }

            fn holds_with(self, outcome: $crate::verdict::Outcome) -> bool {
                $crate::verdict::Expected::from(self).outcomes.contains(&outcome)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{DifferenceExpect, ModesExpect};
    use crate::verdict::Standing;

    #[test]
    fn the_public_names_are_those_of_the_file() {
        for expect in DifferenceExpect::ALL {
            assert_eq!(serde_json::to_value(expect).unwrap(), expect.name());
        }
        assert_eq!(DifferenceExpect::default().name(), "not_slower");
    }

    #[test]
    fn no_expectation_is_met_by_an_outcome_that_leaves_the_claim_open() {
        for open in Outcome::ALL.iter().filter(|outcome| outcome.standing() == Standing::Open) {
            assert!(
                !DifferenceExpect::Any.holds_with(*open) && !ModesExpect::Any.holds_with(*open),
                "{open}"
            );
        }
    }
}
