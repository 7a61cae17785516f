//! netperf, whose output a test reads as the tool writes it.

use std::fs;
use std::path::Path;

use crate::{debian, shell};

/// Debian keeps it in `non-free`: its licence was one until 2.7.1.
const SOURCE: &str = "deb http://deb.debian.org/debian bookworm non-free\n";

/// Fetches it from there, unless it is there, with package lists of its own: the machine's lists stay as they are.
pub(crate) fn fetch(target: &Path) -> Result<(), String> {
    if target.join("tmp/netperf").exists() {
        return Ok(());
    }
    let apt = target.join("tmp/netperf-apt");
    let of_apt = |error| format!("{}: {error}", apt.display());
    fs::create_dir_all(apt.join("lists/partial")).map_err(of_apt)?;
    fs::create_dir_all(apt.join("cache/archives/partial")).map_err(of_apt)?;
    fs::write(apt.join("sources.list"), SOURCE).map_err(of_apt)?;
    // apt takes paths for those of its own folders unless they begin at the root.
    let apt = fs::canonicalize(&apt).map_err(of_apt)?;
    let option = |key: &str, name: &str| format!("--option={key}={}", apt.join(name).display());
    let options = [
        option("Dir::Etc::sourcelist", "sources.list"),
        option("Dir::Etc::sourceparts", "none"),
        option("Dir::State::lists", "lists"),
        option("Dir::Cache", "cache"),
        "--option=APT::Sandbox::User=root".to_owned(),
    ];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    shell::run("apt-get", &[&["update", "--quiet"], options.as_slice()].concat())?;
    debian::unpack(target, "netperf", "netperf", &options)?;
    fs::remove_dir_all(&apt).map_err(of_apt)
}
