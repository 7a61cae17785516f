//! What this process may not do.

use std::fmt;
use std::io;
use std::sync::OnceLock;

/// What root had not got when this process was started as root: in a user namespace of its own everybody is root, and has it all.
static ROOT_LACKS: OnceLock<String> = OnceLock::new();

/// The capabilities that a process which was started by root had not got, as in a container; none where an ordinary user started it.
pub fn root_lacks() -> Option<&'static str> {
    ROOT_LACKS.get().map(String::as_str)
}

/// Notes what root has not got, once.
pub(crate) fn note_what_root_lacks(names: impl FnOnce() -> String) {
    ROOT_LACKS.get_or_init(names);
}

/// Why there can be no namespaces here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forbidden {
    /// `kernel.unprivileged_userns_clone` is 0 (Debian's patch).
    UnprivilegedUsernsClone,
    /// `user.max_user_namespaces` is 0.
    MaxUserNamespaces,
    /// `kernel.apparmor_restrict_unprivileged_userns` is 1 (Ubuntu).
    AppArmor,
    /// The kernel refused for no reason that a setting gives away: seccomp in a container, a limit that is reached, a chroot.
    Refused {
        /// The operation that failed.
        operation: String,
        /// What the kernel said.
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
