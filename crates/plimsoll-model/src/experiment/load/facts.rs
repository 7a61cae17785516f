//! Results of a load beside those that every load counts.

use super::streams::Stream;
use crate::experiment::Metric;

/// Makes, from one list, the enum of the loads' results and its conversion to each kind: the list is the only place that knows all of them.
macro_rules! facts {
    (
        $(#[$doc:meta])*
        pub enum $name:ident {
            $($(#[$of_kind:meta])* $kind:ident($type:ty),)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$of_kind])* $kind($type),)+
        }

        impl ::std::ops::Deref for $name {
            type Target = dyn $crate::experiment::load::facts::FactsType;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$kind(it) => it,)+
                }
            }
        }

        impl $name {
            /// Takes in what another slice of the same load found; that of a load of another kind is left alone.
            pub fn join(&mut self, other: &Self) {
                match (self, other) {
                    $((Self::$kind(mine), Self::$kind(theirs)) => {
                        $crate::experiment::load::facts::Join::join(mine, theirs);
                    })+
                    _ => {}
                }
            }
        }

        $(
            impl $crate::experiment::load::facts::OfKind for $type {
                fn of(facts: &$name) -> Option<&Self> {
                    match facts {
                        $name::$kind(it) => Some(it),
                        _ => None,
                    }
                }
            }

            impl From<$type> for $name {
                fn from(it: $type) -> Self {
                    Self::$kind(it)
                }
            }
        )+
    };
}

/// Results of loads of one kind.
pub trait OfKind: Sized {
    /// It, where the facts are of this kind.
    fn of(facts: &super::LoadFacts) -> Option<&Self>;
}

/// Interface of the facts that a load of any kind returns.
pub trait FactsType {
    /// A figure that only such a load has, or that it has in a way of its own; `seconds` is how long the load took.
    fn figure(&self, _metric: Metric, _seconds: f64) -> Option<f64> {
        None
    }

    /// The rate that such a load is about; `None` if it is that of connections or requests.
    fn rate(&self) -> Option<Metric> {
        None
    }

    /// Whether the JSON of a report gives them as they are: few numbers that say something by themselves.
    fn is_in_report(&self) -> bool {
        false
    }

    /// Whether the generator's own work is part of the measurement, so that it may keep its CPUs busy.
    fn measures_its_own_work(&self) -> bool {
        false
    }

    /// TCP streams of the load, where it reports them.
    fn streams(&self) -> &[Stream] {
        &[]
    }

    /// Sent and due requests of a load with a rate.
    fn offered(&self) -> Option<(u64, u64)> {
        None
    }

    /// Number of operations, where connections and requests do not count them; `bytes` is how many the load moved.
    fn done(&self, _bytes: u64) -> Option<u64> {
        None
    }
}

/// Results of several slices of one load, put together.
pub trait Join {
    /// Takes in what another slice found.
    fn join(&mut self, other: &Self);
}

/// The rate per second; `None` if no time passed.
pub(crate) fn per_second(number: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| number / seconds)
}
