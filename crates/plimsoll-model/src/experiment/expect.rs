//! What a claim expects: the outcomes with which it holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::{Expected, Outcome};

/// What is expected of a claim of one kind.
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
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

        impl From<$kind> for Expected {
            fn from(expect: $kind) -> Self {
                match expect {
                    $kind::$first => Self { name: $first_name, outcomes: &[$(Outcome::$first_outcome,)+] },
                    $($kind::$other => Self { name: $other_name, outcomes: &[$(Outcome::$outcome,)+] },)+
                }
            }
        }

        impl Expectation for $kind {
            fn name(self) -> &'static str {
                Expected::from(self).name
            }

            fn holds_with(self, outcome: Outcome) -> bool {
                Expected::from(self).outcomes.contains(&outcome)
            }
        }
    };
}

expectations! {
    /// What is expected of a figure after a flood.
    RecoveryExpect {
        /// It comes back.
        Recovered "recovered": Recovered,
        /// It does not.
        NotRecovered "not_recovered": NotRecovered,
    }
}

expectations! {
    /// What is expected of B against A.
    DifferenceExpect {
        /// B is as good as A, or better.
        NotSlower "not_slower": Same | Faster,
        /// B is as good as A, within the margin.
        Same "same": Same,
        /// B is better than A, by more than the margin can hide.
        Faster "faster": Faster,
        /// B is worse than A.
        Slower "slower": Slower,
        /// Whichever it is: the claim holds when it is known.
        Any "any": Same | Faster | Slower,
    }
}

expectations! {
    /// What is expected of factors.
    InteractionExpect {
        /// They do not act on each other.
        Additive "additive": Additive,
        /// The effect of one depends on the level of another.
        Interaction "interaction": Interaction,
        /// Whichever it is: the claim holds when it is known.
        Any "any": Additive | Interaction,
    }
}

expectations! {
    /// What is expected of measurements.
    ModesExpect {
        /// They gather in one place.
        OneMode "one_mode": OneMode,
        /// They gather in two places or more.
        SeveralModes "several_modes": SeveralModes,
        /// Whichever it is: the claim holds when it is known.
        Any "any": OneMode | SeveralModes,
    }
}

expectations! {
    /// What is expected of mail.
    DeliveryExpect {
        /// All that was acknowledged arrives.
        Delivered "delivered": Delivered,
        /// Some of it does not.
        NotDelivered "not_delivered": NotDelivered,
    }
}

expectations! {
    /// What is expected of a path for TCP.
    PathExpect {
        /// It is good enough.
        Reached "reached": Reached,
        /// It is not.
        NotReached "not_reached": NotReached,
    }
}

expectations! {
    /// What is expected of a search for a limit.
    SearchExpect {
        /// The bound is held up to the rate that is wanted; where none is, the limit is found.
        Reached "reached": Reached | Estimated,
        /// It is not held up to there.
        NotReached "not_reached": NotReached,
    }
}

expectations! {
    /// What is expected of a bound.
    BoundExpect {
        /// The figure keeps to it.
        Held "held": Held,
        /// It does not.
        NotHeld "not_held": NotHeld,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
