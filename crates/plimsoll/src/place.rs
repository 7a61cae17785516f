//! Where runs are kept where nobody says it.

use std::path::PathBuf;

/// `plimsoll/runs.sqlite` in the user's state folder (XDG Base Directory); nothing where neither XDG_STATE_HOME nor HOME says where that is.
pub(crate) fn of_runs() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("plimsoll/runs.sqlite"))
}
