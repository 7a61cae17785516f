//! Expected outcomes of a claim: those with which it holds.

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
    };
}

#[cfg(test)]
mod tests {
    use crate::experiment::{DifferenceExpect, ModesExpect};
    use crate::verdict::{Expected, Outcome, Standing};

    #[test]
    fn the_public_names_are_those_of_the_file() {
        for expect in DifferenceExpect::ALL {
            assert_eq!(serde_json::to_value(expect).unwrap(), Expected::from(*expect).name);
        }
        assert_eq!(Expected::from(DifferenceExpect::default()).name, "not_slower");
    }

    #[test]
    fn no_expectation_is_met_by_an_outcome_that_leaves_the_claim_open() {
        for any in [Expected::from(DifferenceExpect::Any), ModesExpect::Any.into()] {
            let is_open = |outcome: &&Outcome| outcome.standing() == Standing::Open;
            assert_eq!(any.outcomes.iter().find(is_open), None, "{}", any.name);
        }
    }
}
