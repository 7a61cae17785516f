//! What lies in the folder of a service, and whom it belongs to.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, chown};
use std::path::Path;

use plimsoll_model::frame::{CertificateFile, Failure, ServiceSpec};

use crate::{gate, other};

/// Writes the certificate of a service into its folder, with what belongs to it; the key only for whom it runs as.
pub(crate) fn write_certificate(spec: &ServiceSpec, folder: &Path, for_nobody: bool) -> Result<(), Failure> {
    let Some(certificate) = &spec.certificate else { return Ok(()) };
    for file in CertificateFile::ALL {
        let path = folder.join(file.name());
        // A service that is started again has the same certificate; its files may be another user's by now.
        fs::remove_file(&path).ok();
        let mode = if file.is_secret() { 0o600 } else { 0o644 };
        let mut options = fs::OpenOptions::new();
        let made = options.write(true).create_new(true).mode(mode).open(&path);
        made.and_then(|mut made| made.write_all(file.text(certificate).as_bytes()))
            .map_err(|error| other(format!("write {}", path.display()), error))?;
        if for_nobody {
            give_to_nobody(&path)?;
        }
    }
    Ok(())
}

/// Refuses a path that is, or lies behind, a symbolic link: the file names it, and the agent makes it with its own rights. Returns the part
/// that exists.
pub(crate) fn refuse_links<'p>(path: &'p Path, what: &str) -> Result<&'p Path, Failure> {
    let there = path.ancestors().find(|part| part.symlink_metadata().is_ok()).unwrap_or(path);
    if !there.canonicalize().is_ok_and(|whole| whole == there) {
        return Err(other(what, format!("{} is or lies behind a symbolic link", there.display())));
    }
    Ok(there)
}

/// Lets a program that runs as nobody write to a folder of its own, where nobody is somebody else.
pub(crate) fn give_to_nobody(folder: &Path) -> Result<(), Failure> {
    if !gate::can_become_nobody() {
        return Ok(());
    }
    chown(folder, Some(gate::NOBODY), Some(gate::NOBODY))
        .map_err(|error| other(format!("give {} to nobody", folder.display()), error))
}
