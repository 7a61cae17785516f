//! Default folders of runs and builds.

use std::path::PathBuf;

/// `plimsoll/runs.sqlite` in the user's state folder (XDG Base Directory); `None` if neither XDG_STATE_HOME nor HOME says where that is.
pub(crate) fn of_runs() -> Option<PathBuf> {
    in_folder("XDG_STATE_HOME", ".local/state").map(|state| state.join("plimsoll/runs.sqlite"))
}

/// The folder of the user's that a variable names, or that is usual in the home.
fn in_folder(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(usual)))
}

/// `plimsoll/ab` in the user's cache (XDG Base Directory); `None` if neither XDG_CACHE_HOME nor HOME says where that is.
pub(crate) fn of_builds() -> Option<PathBuf> {
    in_folder("XDG_CACHE_HOME", ".cache").map(|cache| cache.join("plimsoll/ab"))
}
