//! Debian packages that tests read and do not install.

use std::fs;
use std::path::Path;

use crate::shell;

/// Fetches a package and unpacks it into `tmp/NAME` of the target folder, where tests look for it (Cargo gives them that folder as
/// CARGO_TARGET_TMPDIR), unless it is there. `options` are apt's.
pub(crate) fn unpack(target: &Path, name: &str, package: &str, options: &[&str]) -> Result<(), String> {
    let folder = target.join("tmp").join(name);
    // The folder gets its name when it is complete.
    let part = target.join("tmp").join(format!("{name}.part"));
    let of_part = |error| format!("{}: {error}", part.display());
    if part.exists() {
        fs::remove_dir_all(&part).map_err(of_part)?;
    }
    fs::create_dir_all(&part).map_err(of_part)?;
    let into = format!("--chdir={}", part.display());
    // As root, because the folder is root's.
    let download =
        [into.as_str(), "apt-get", "download", "--quiet", "--option=APT::Sandbox::User=root", package];
    let words = [&download[..], options].concat();
    shell::run("env", &words)?;
    let file = only_file(&part)?;
    shell::run("dpkg-deb", &["--extract", &file, &part.display().to_string()])?;
    fs::remove_file(&file).map_err(|error| format!("{file}: {error}"))?;
    fs::rename(&part, &folder).map_err(of_part)
}

fn only_file(folder: &Path) -> Result<String, String> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match entries.map_err(|error| format!("{}: {error}", folder.display()))?.as_slice() {
        [file] => Ok(file.path().display().to_string()),
        files => Err(format!("{}: expected one downloaded package, found {files:?}", folder.display())),
    }
}
