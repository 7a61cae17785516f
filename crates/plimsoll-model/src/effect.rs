//! Effects of an experiment on the machine that carries it out.

use serde::Serialize;
use strum::VariantArray;

/// An action on the machine.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Effect {
    /// Kind of the effect.
    pub kind: EffectKind,
    /// The effect in words.
    pub what: String,
    /// Which part of the file asks for it: a path into it.
    pub by: String,
    /// The host that it is done for.
    pub host: Option<String>,
    /// User and rights with which a program runs.
    #[serde(rename = "as")]
    pub as_whom: Option<RunAs>,
    /// Right that an ordinary user lacks.
    pub needs: Option<Need>,
    /// Path of the machine that it reads or writes. It needs no consent where it lies in the folder of the experiment file.
    pub path: Option<String>,
    /// Consent that `run` needs for it; absent for actions that an unprivileged program in namespaces of its own could do.
    pub allow: Option<Consent>,
    /// Whether only the settings of `[quick]` lead to it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
}

/// Makes the kinds of consent and their names from one list.
macro_rules! consents {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)+) => {
        /// Kind of consent, the KIND of `--allow KIND`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Consent {
            $($(#[$doc])* $kind,)+
        }

        impl Consent {
            /// All kinds, the strongest first.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// Name on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

consents! {
    /// Programs with all rights of the caller: `privileged = true`, `reach`, and QEMU.
    Privileged "privileged",
    /// Programs that start as root and run as several users: Postfix.
    Users "users",
    /// Programs on hosts that share the machine's network and processes: `kind = "local"`.
    Local "local",
    /// Settings, devices and control groups of the machine, and everything else that needs root.
    Machine "machine",
    /// Paths outside the folder of the experiment file.
    Files "files",
    /// Variables of the caller's environment.
    Secrets "secrets",
}

impl Consent {
    /// The kind with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// Kind of an experiment's effect on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// A program that is not Plimsoll is started.
    Program,
    /// Files of the machine are read.
    Reads,
    /// Files or folders of the machine are written.
    Writes,
    /// A variable of the caller's environment is passed on.
    Secret,
    /// A device is made, read or written.
    Device,
    /// A setting of the whole machine is changed, and put back afterwards.
    Setting,
    /// Everything on the machine notices it.
    Machine,
    /// The machine's own network is used.
    Network,
}

impl EffectKind {
    /// All effects, in the order of reports.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Heading of a list of them.
    pub fn title(self) -> &'static str {
        match self {
            Self::Program => "programs",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Secret => "variables of your environment",
            Self::Device => "devices",
            Self::Setting => "settings of the whole machine",
            Self::Machine => "the whole machine",
            Self::Network => "network",
        }
    }
}

/// User and rights with which a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunAs {
    /// As nobody (user 65534) for root; else as the user in a user namespace of its own, where the kernel allows that. Without capabilities,
    /// with the machine's files read-only.
    Nobody,
    /// As root and as the users that its distribution made for it, with few capabilities and the machine's files read-only.
    SeveralUsers,
    /// As the user who runs Plimsoll, with all rights of that user on its host.
    Caller,
    /// As root, before the trial begins.
    Root,
}

impl RunAs {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Nobody => "as nobody, the machine's files read-only",
            Self::SeveralUsers => "as root with few capabilities, the machine's files read-only",
            Self::Caller => "with all rights of the caller",
            Self::Root => "as root",
        }
    }
}

/// Rights that an ordinary user lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// To be root of the machine.
    Root,
}

impl Effect {
    pub(crate) fn new(kind: EffectKind, by: String, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { kind, what, by, host: None, as_whom: None, needs: None, path: None, allow: None, quick: false }
    }

    pub(crate) fn on(self, host: &str) -> Self {
        Self { host: Some(host.to_owned()), ..self }
    }

    pub(crate) fn run_as(self, whom: RunAs) -> Self {
        let allow = match whom {
            RunAs::Nobody => None,
            RunAs::SeveralUsers => Some(Consent::Users),
            RunAs::Caller => Some(Consent::Privileged),
            RunAs::Root => Some(Consent::Machine),
        };
        Self { as_whom: Some(whom), allow, ..self }
    }

    pub(crate) fn needs_consent(self, kind: Consent) -> Self {
        Self { allow: self.allow.or(Some(kind)), ..self }
    }

    pub(crate) fn at_path(self, path: &str) -> Self {
        Self { path: Some(path.to_owned()), ..self }.needs_consent(Consent::Files)
    }

    pub(crate) fn needs_root(self) -> Self {
        Self { needs: Some(Need::Root), ..self }.needs_consent(Consent::Machine)
    }
}

/// A word of a command as a reader can separate it from its neighbours: in quotes where it has blanks or quotes, and with what a terminal would
/// not show as it is (control characters, changes of the direction of writing) by its number.
pub fn word(text: &str) -> String {
    let quoted = format!("{text:?}");
    let plain = quoted.len() == text.len() + 2 && !text.is_empty() && !text.contains([' ', '\'', '\u{a0}']);
    if plain { text.to_owned() } else { quoted }
}
