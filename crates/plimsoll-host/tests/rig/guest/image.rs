//! Boot files of the guest: its kernel, and its initial files as one archive.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;

use super::PROGRAM;

/// Modules of Debian's kernel that hosts and links need.
const MODULES: [&str; 2] = ["veth", "sch_netem"];
/// Folder of the modules in the guest, numbered in the order of their loading.
pub(super) const MODULES_AT: &str = "/modules";

/// The kernel in this unpacked package.
pub(super) fn kernel(package: &Path) -> Result<PathBuf, Failed> {
    find(package, "a kernel", &|name| name.starts_with("vmlinuz-"))
}

/// An archive of this program, the libraries that it is linked with, and the modules.
pub(super) fn make(package: &Path) -> Result<Vec<u8>, Failed> {
    let program = std::env::current_exe()?;
    let mut archive = Archive::default();
    archive.file(PROGRAM, &fs::read(&program)?);
    for library in libraries(&program)? {
        archive.file(&library, &fs::read(&library)?);
    }
    let mut modules = Vec::new();
    for name in MODULES {
        load(package, name, &mut modules)?;
    }
    for (n, (name, content)) in modules.iter().enumerate() {
        archive.file(&format!("{MODULES_AT}/{n:02}-{name}"), content);
    }
    Ok(archive.end())
}

/// Paths of a program's libraries, with its interpreter.
fn libraries(program: &Path) -> Result<Vec<String>, Failed> {
    let listed = output(Command::new("ldd").arg(program))?;
    let listed = String::from_utf8(listed)?;
    Ok(listed.split_whitespace().filter(|word| word.starts_with('/')).map(Into::into).collect())
}

/// Appends a module, after those that it depends on.
fn load(package: &Path, name: &str, modules: &mut Vec<(String, Vec<u8>)>) -> Result<(), Failed> {
    if modules.iter().any(|(known, _)| known == name) {
        return Ok(());
    }
    // The names of modules have underscores where those of their files may have hyphens; and they may be compressed.
    let is_it = |file: &str| file.split_once(".ko").is_some_and(|(stem, _)| stem.replace('-', "_") == name);
    let file = find(package, &format!("the module {name}"), &is_it)?;
    let content = match file.extension().and_then(OsStr::to_str) {
        Some("ko") => fs::read(&file)?,
        _ => output(Command::new("xz").args(["--decompress", "--stdout"]).arg(&file))?,
    };
    for needed in depends(&content) {
        load(package, &needed, modules)?;
    }
    modules.push((name.to_owned(), content));
    Ok(())
}

/// Dependencies of a module, from its strings with a NUL at the end, such as `depends=NAME,NAME` (modinfo(8)).
fn depends(module: &[u8]) -> Vec<String> {
    let names = module.split(|byte| *byte == 0).find_map(|string| string.strip_prefix(b"depends="));
    let names = String::from_utf8_lossy(names.unwrap_or_default());
    names.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

/// The one file of a package with such a name.
fn find(package: &Path, what: &str, is_it: &dyn Fn(&str) -> bool) -> Result<PathBuf, Failed> {
    let mut found = Vec::new();
    let mut folders = vec![package.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| {
            format!("{}: {error}; `cargo xtask test` puts a kernel for the guest there", folder.display())
        })?;
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name().to_str().is_some_and(is_it) {
                found.push(entry.path());
            }
        }
    }
    match &found[..] {
        [file] => Ok(file.clone()),
        _ => Err(format!("{}: expected {what} once, found {found:?}", package.display()).into()),
    }
}

fn output(command: &mut Command) -> Result<Vec<u8>, Failed> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}: {stderr}", output.status).into());
    }
    Ok(output.stdout)
}

/// A cpio archive as the kernel takes it (Documentation/driver-api/early-userspace/buffer-format.rst).
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    folders: Vec<PathBuf>,
}

impl Archive {
    const FOLDER: u32 = 0o040_755;
    const FILE: u32 = 0o100_755;

    /// Adds a file, and the folders above it.
    fn file(&mut self, path: &str, content: &[u8]) {
        let above: Vec<&Path> =
            Path::new(path).ancestors().skip(1).filter(|p| p.parent().is_some()).collect();
        for folder in above.into_iter().rev() {
            if !self.folders.iter().any(|known| known == folder) {
                self.entry(&folder.to_string_lossy(), Self::FOLDER, &[]);
                self.folders.push(folder.to_owned());
            }
        }
        self.entry(path, Self::FILE, content);
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        let name = path.trim_start_matches('/');
        // inode, mode, owner, group, links, time, size, four numbers of devices, length of the name, checksum
        let fields = [0, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes().chain([0]));
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    /// Names and contents begin at multiples of four.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}
