//! Tables of which exactly one key says what they are.

/// What is wrong with a table that names none of the kinds.
pub(super) const SAYS_NOTHING: &str = "does not say what it is";

/// Makes, from one list, the enum of the kinds of something, the table in which a file names one of them, and the way from one to the other:
/// the list is the only place that knows all kinds. A table that names none of them, or several, is refused where it stands.
macro_rules! kinds {
    (
        $(#[$doc:meta])*
        pub enum $name:ident, a table that is $what:literal, read as $table:ident {
            $($(#[$of_kind:meta])* $key:ident: $kind:ident($type:ty),)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$of_kind])* $kind($type),)+
        }

        #[derive(::serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $table {
            $(#[serde(default)] $key: Option<$type>,)+
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let table = $table::deserialize(deserializer)?;
                let mut given: Vec<(&str, Self)> = Vec::new();
                $(given.extend(table.$key.map(|it| (stringify!($key), Self::$kind(it))));)+
                let known = [$(concat!("`", stringify!($key), "`")),+].join(", ");
                let wrong = match given.as_slice() {
                    [_] => return Ok(given.remove(0).1),
                    [] => format!("{} {}", $what, $crate::experiment::kinds::SAYS_NOTHING),
                    several => {
                        let names: Vec<&str> = several.iter().map(|(name, _)| *name).collect();
                        format!("{} is {} at once", $what, names.join(" and "))
                    }
                };
                Err(::serde::de::Error::custom(format_args!("{wrong}, expected exactly one of {known}")))
            }
        }

        impl $name {
            $(
                #[doc = concat!("What it says, where it is of the kind `", stringify!($key), "`.")]
                #[must_use]
                pub fn $key(&self) -> Option<&$type> {
                    match self {
                        Self::$kind(it) => Some(it),
                        _ => None,
                    }
                }
            )+
        }
    };
}
