//! Files in the folder of a service, and their owners.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, chown};
use std::path::Path;

use plimsoll_model::frame::{CertificateFile, Failure, ServiceSpec};
use plimsoll_path::Folder;

use crate::{other, sandbox};

/// Makes the folder of a queue that the file names (`field`), or opens the one that is there.
///
/// # Returns
/// The folder, and whether it was missing.
pub(crate) fn queue(field: &str, path: &Path) -> Result<(Folder, bool), Failure> {
    Folder::make(path).map_err(|error| other(format!("make the folder of {field}"), error))
}

/// Writes a service's certificate, authority and key into its folder. Only the service's user can read the key.
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

/// Lets a program that runs as nobody write to a folder of its own, where nobody is somebody else.
pub(crate) fn give_to_nobody(folder: &Path) -> Result<(), Failure> {
    if !sandbox::can_become_nobody() {
        return Ok(());
    }
    chown(folder, Some(sandbox::NOBODY), Some(sandbox::NOBODY))
        .map_err(|error| other(format!("give {} to nobody", folder.display()), error))
}
