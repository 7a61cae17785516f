//! Missing rights of this process.

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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// `kernel.unprivileged_userns_clone` is 0 (Debian's patch).
    #[error("by kernel.unprivileged_userns_clone = 0")]
    UnprivilegedUsernsClone,
    /// `user.max_user_namespaces` is 0.
    #[error("by user.max_user_namespaces = 0")]
    MaxUserNamespaces,
    /// `kernel.apparmor_restrict_unprivileged_userns` is 1 (Ubuntu).
    #[error("by AppArmor (kernel.apparmor_restrict_unprivileged_userns = 1)")]
    AppArmor,
    /// The kernel refused without a setting that explains it: seccomp in a container, a reached limit, a chroot.
    #[error("({operation}: {})", io::Error::from_raw_os_error(*.errno))]
    Refused {
        /// The operation that failed.
        operation: String,
        /// The kernel's error.
        errno: i32,
    },
}
