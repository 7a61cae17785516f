//! Missing rights of this process.

use std::fmt;
use std::io;
use std::sync::OnceLock;

/// Capabilities that root lacked at the start of this process. In a user namespace of its own every user is root, and has them all.
static ROOT_LACKS: OnceLock<String> = OnceLock::new();

/// Capabilities that root lacked at the start, as in a container; `None` for an ordinary user.
pub fn root_lacks() -> Option<&'static str> {
    ROOT_LACKS.get().map(String::as_str)
}

/// Notes once the capabilities that root lacks.
pub(crate) fn note_what_root_lacks(names: impl FnOnce() -> String) {
    ROOT_LACKS.get_or_init(names);
}

/// Reason why namespaces are impossible here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// `kernel.unprivileged_userns_clone` is 0 (Debian's patch).
    UnprivilegedUsernsClone,
    /// `user.max_user_namespaces` is 0.
    MaxUserNamespaces,
    /// `kernel.apparmor_restrict_unprivileged_userns` is 1 (Ubuntu).
    AppArmor,
    /// The kernel refused without a setting that explains it: seccomp in a container, a reached limit, a chroot.
    Refused {
        /// The operation that failed.
        operation: String,
        /// The kernel's error.
        errno: i32,
    },
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnprivilegedUsernsClone => f.write_str("by kernel.unprivileged_userns_clone = 0"),
            Self::MaxUserNamespaces => f.write_str("by user.max_user_namespaces = 0"),
            Self::AppArmor => f.write_str("by AppArmor (kernel.apparmor_restrict_unprivileged_userns = 1)"),
            Self::Refused { operation, errno } => {
                write!(f, "({operation}: {})", io::Error::from_raw_os_error(*errno))
            }
        }
    }
}
