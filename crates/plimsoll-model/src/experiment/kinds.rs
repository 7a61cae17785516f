//! Tables of which exactly one key says what they are.

/// Message for a table that names none of the kinds.
pub(super) const SAYS_NOTHING: &str = "does not say what it is";

/// Makes, from one list, the enum of the kinds of something, the table in which a file names one of them, and the way from one to the other:
/// the list is the only place that knows all kinds. A table that names none of them, or several, is refused where it stands.
macro_rules! kinds {
    (@accessors $name:ident $($key:ident: $kind:ident($type:ty),)+) => {
        impl $name {
            $(
                #[doc = concat!("What it says, where it is of the kind `", stringify!($key), "`.")]
                pub fn $key(&self) -> Option<&$type> {
                    match self {
                        Self::$kind(it) => Some(it),
                        _ => None,
                    }
                }
            )+
        }
    };
    (
        $(#[$doc:meta])*
        pub enum $name:ident, a table that is $what:literal, read as $table:ident {
            $($(#[$of_kind:meta])* $key:ident: $kind:ident($type:ty),)+
        }
        $(beside $beside:ident: $of_beside:ty, taken in by $take_in:ident)?
    ) => {
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        $(#[$doc])*
        pub enum $name {
            $($(#[$of_kind])* $kind($type),)+
        }

        #[derive(::serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $table {
            $(#[serde(default)] $key: Option<$type>,)+
            $(#[serde(default)] $beside: Option<$of_beside>,)?
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let table = $table::deserialize(deserializer)?;
                let mut given: Vec<(&str, Self)> = Vec::new();
                $(given.extend(table.$key.map(|it| (stringify!($key), Self::$kind(it))));)+
                let only = $crate::experiment::kinds::only($what, &[$(stringify!($key)),+], given);
                let only = only.map_err(::serde::de::Error::custom);
                $(let only = only.map(|mut only: Self| {
                    if let Some(beside) = &table.$beside {
                        only.$take_in(beside);
                    }
                    only
                });)?
                only
            }
        }

        kinds!(@accessors $name $($key: $kind($type),)+);
    };
    (
        $(#[$doc:meta])*
        pub enum $name:ident, a table that is $what:literal, each a dyn $of_every:ident {
            $($(#[$of_kind:meta])* $key:ident: $kind:ident($type:ty),)+
        }

        $(#[$of_whole:meta])*
        pub struct $whole:ident, read as $table:ident $(, then $then:ident)? {
            $($(#[$of_field:meta])* pub $field:ident: $of_type:ty,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$of_kind])* $kind($type),)+
        }

        $(#[$of_whole])*
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub struct $whole {
            $($(#[$of_field])* pub $field: $of_type,)+
            /// Its kind.
            #[serde(flatten)]
            pub kind: $name,
        }

        #[derive(::serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $table {
            $($(#[$of_field])* $field: $of_type,)+
            $(#[serde(default)] $key: Option<$type>,)+
        }

        impl<'de> ::serde::Deserialize<'de> for $whole {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let table = $table::deserialize(deserializer)?;
                let mut given: Vec<(&str, $name)> = Vec::new();
                $(given.extend(table.$key.map(|it| (stringify!($key), $name::$kind(it))));)+
                let kind = $crate::experiment::kinds::only($what, &[$(stringify!($key)),+], given);
                let kind = kind.map_err(::serde::de::Error::custom)?;
                let whole = Self { $($field: table.$field,)+ kind };
                $(let whole = whole.$then().map_err(::serde::de::Error::custom)?;)?
                Ok(whole)
            }
        }

        $(
            impl From<$type> for $name {
                fn from(it: $type) -> Self {
                    Self::$kind(it)
                }
            }
        )+

        impl $name {
            /// Its key in a file.
            pub fn key(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $crate::experiment::kinds::plain(stringify!($key)),)+
                }
            }
        }

        impl ::std::ops::Deref for $name {
            type Target = dyn $of_every;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$kind(it) => it,)+
                }
            }
        }

        kinds!(@accessors $name $($key: $kind($type),)+);
    };
}

/// The only kind that a table names, or what is wrong with it.
pub(super) fn only<T>(what: &str, known: &[&str], mut given: Vec<(&str, T)>) -> Result<T, String> {
    let wrong = match given.as_slice() {
        [_] => return Ok(given.remove(0).1),
        [] => format!("{what} {SAYS_NOTHING}"),
        several => {
            let names: Vec<&str> = several.iter().map(|(name, _)| plain(name)).collect();
            format!("{what} is {} at once", names.join(" and "))
        }
    };
    let known: Vec<String> = known.iter().map(|name| format!("`{}`", plain(name))).collect();
    Err(format!("{wrong}, expected exactly one of {}", known.join(", ")))
}

/// A key without what Rust wants before a word of its own.
pub(super) fn plain(key: &str) -> &str {
    key.strip_prefix("r#").unwrap_or(key)
}
