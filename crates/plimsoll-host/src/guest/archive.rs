//! The files that a guest starts with: an archive that the kernel unpacks into memory (initramfs).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `\x7fELF`, 64 bits, little endian (elf(5)).
const ELF_64: &[u8] = b"\x7fELF\x02\x01";
/// The size of `Elf64_Ehdr`.
const ELF_HEADER: usize = 64;

/// A cpio archive as the kernel takes it (Documentation/driver-api/early-userspace/buffer-format.rst).
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    known: BTreeSet<PathBuf>,
}

impl Archive {
    const FOLDER: u32 = 0o040_755;
    const FILE: u32 = 0o100_755;
    const LINK: u32 = 0o120_777;
    /// `/dev/console`, by which the first process has standard streams.
    const CHARACTER_DEVICE: u32 = 0o020_600;

    pub(super) fn new() -> Self {
        let mut archive = Self::default();
        archive.above(Path::new("/dev/console"));
        archive.entry("/dev/console", Self::CHARACTER_DEVICE, [5, 1], &[]);
        archive
    }

    /// Adds a file, and the folders above it. One that is there already stays.
    pub(super) fn file(&mut self, path: &Path, content: &[u8]) {
        if self.known.insert(path.to_owned()) {
            self.above(path);
            self.entry(&path.to_string_lossy(), Self::FILE, [0, 0], content);
        }
    }

    /// Adds another name for a file.
    pub(super) fn link(&mut self, at: &Path, to: &Path) {
        self.above(at);
        self.entry(&at.to_string_lossy(), Self::LINK, [0, 0], to.to_string_lossy().as_bytes());
    }

    /// Adds an empty folder, and those above it.
    pub(super) fn folder(&mut self, path: &Path) {
        self.above(&path.join("inside"));
    }

    /// Adds a program with what it is linked with, under a name of its own. What only a debugger reads is left out.
    pub(super) fn program(&mut self, at: &Path, file: &Path) -> io::Result<()> {
        let content = fs::read(file)?;
        for library in libraries(file, &content)? {
            self.file(&library, &without_sections(fs::read(&library)?));
        }
        self.file(at, &without_sections(content));
        Ok(())
    }

    fn above(&mut self, path: &Path) {
        let above: Vec<&Path> = path.ancestors().skip(1).filter(|p| p.parent().is_some()).collect();
        for folder in above.into_iter().rev() {
            if self.known.insert(folder.to_owned()) {
                self.entry(&folder.to_string_lossy(), Self::FOLDER, [0, 0], &[]);
            }
        }
    }

    fn entry(&mut self, path: &str, mode: u32, device: [u32; 2], content: &[u8]) {
        let name = path.trim_start_matches('/');
        let length = |n: usize| u32::try_from(n).expect("no file of a guest has 4 GiB");
        let (size, name_length) = (length(content.len()), length(name.len() + 1));
        // inode, mode, owner, group, links, time, size, device of the file, device that it is, length of the name, checksum
        let fields = [0, mode, 0, 0, 1, 0, size, 0, 0, device[0], device[1], name_length, 0];
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

    pub(super) fn end(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, [0, 0], &[]);
        self.bytes
    }
}

/// The libraries that a program is linked with, its interpreter among them; none for one that is linked statically.
///
/// The interpreter itself is asked (ld.so(8), `--list`), since it alone knows where it would find them.
fn libraries(file: &Path, content: &[u8]) -> io::Result<Vec<PathBuf>> {
    let Some(interpreter) = interpreter(content) else { return Ok(Vec::new()) };
    let output = Command::new(&interpreter).arg("--list").arg(file).output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let what = format!("{} --list {}: {stderr}", interpreter.display(), file.display());
        return Err(io::Error::other(what));
    }
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths = listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from);
    Ok(paths.chain([interpreter]).collect())
}

/// The headers of an ELF file's segments, each `Elf64_Phdr`: type, and where its bytes begin and end in the file.
fn segments(content: &[u8]) -> Option<Vec<(u32, usize, usize)>> {
    if !content.starts_with(ELF_64) || content.len() < ELF_HEADER {
        return None;
    }
    let long = |at: usize| Some(u64::from_le_bytes(*content.get(at..)?.first_chunk()?));
    let short = |at: usize| Some(u16::from_le_bytes(*content.get(at..)?.first_chunk()?));
    let (first, size, count) = (long(32)?, short(54)?, short(56)?);
    let segment = |n: u16| {
        let at = usize::try_from(first).ok()?.checked_add(usize::from(n) * usize::from(size))?;
        let kind = u32::from_le_bytes(*content.get(at..)?.first_chunk()?);
        let (offset, length) = (long(at.checked_add(8)?)?, long(at.checked_add(32)?)?);
        let end = offset.checked_add(length)?;
        Some((kind, usize::try_from(offset).ok()?, usize::try_from(end).ok()?))
    };
    (0..count).map(segment).collect()
}

fn interpreter(content: &[u8]) -> Option<PathBuf> {
    const PT_INTERP: u32 = 3;
    let (_, begin, end) = segments(content)?.into_iter().find(|(kind, ..)| *kind == PT_INTERP)?;
    let name = content.get(begin..end)?.split(|byte| *byte == 0).next()?;
    use std::os::unix::ffi::OsStrExt;
    Some(OsStr::from_bytes(name).into())
}

/// The file up to where its last segment ends: what comes after it, symbols and what debuggers need, is never loaded. Most of a debug build is
/// that, and a guest keeps all of its files in memory. Anything but such a program stays as it is.
fn without_sections(mut content: Vec<u8>) -> Vec<u8> {
    let headers = |content: &[u8]| {
        let first = usize::try_from(u64::from_le_bytes(*content.get(32..)?.first_chunk()?)).ok()?;
        let [size, count] =
            [54, 56].map(|at| content.get(at..)?.first_chunk().map(|n| u16::from_le_bytes(*n)));
        first.checked_add(usize::from(size?) * usize::from(count?))
    };
    let (Some(segments), Some(headers)) = (segments(&content), headers(&content)) else { return content };
    let end = segments.iter().map(|(_, _, end)| *end).max().unwrap_or(0).max(headers).max(ELF_HEADER);
    if end < content.len() {
        content.truncate(end);
        // e_shoff; e_shentsize stays; e_shnum, e_shstrndx
        content[40..48].fill(0);
        content[60..64].fill(0);
    }
    content
}

/// Whether two paths lead to one file.
pub(super) fn are_one_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    identity(a).is_some() && identity(a) == identity(b)
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::process::Stdio;
    use std::thread;

    use super::*;

    #[test]
    #[ignore = "needs cpio; cargo xtask test has it"]
    fn cpio_reads_the_archive() {
        let mut archive = Archive::new();
        archive.file(Path::new("/a/b/one"), b"first");
        archive.file(Path::new("/a/two"), b"");
        archive.file(Path::new("/a/two"), b"a second file of the same name");
        archive.folder(Path::new("/proc"));
        let folder = tempfile::tempdir().expect("a folder");
        let mut cpio = Command::new("cpio")
            .args(["--extract", "--make-directories", "--quiet", "--no-absolute-filenames", "a/*", "proc"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .spawn()
            .expect("cpio is there");
        cpio.stdin.take().expect("piped").write_all(&archive.end()).expect("written");
        assert!(cpio.wait().expect("ends").success());
        let read = |name: &str| fs::read(folder.path().join(name)).expect("unpacked");
        assert_eq!((read("a/b/one"), read("a/two")), (b"first".to_vec(), Vec::new()));
        assert!(folder.path().join("proc").is_dir());
    }

    #[test]
    fn a_program_runs_without_what_only_a_debugger_reads() {
        let program = std::env::current_exe().expect("this test");
        let content = fs::read(&program).expect("readable");
        let before = content.len();
        let less = without_sections(content);
        assert!(less.len() < before, "{} of {before} bytes are left", less.len());
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("less");
        fs::write(&file, &less).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("executable");
        // A process that another test starts meanwhile holds the file open for writing until its own exec.
        let list = loop {
            match Command::new(&file).arg("--list").output() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::yield_now(),
                started => break started.expect("it starts"),
            }
        };
        assert!(list.status.success(), "{list:?}");
        let text = b"#!/bin/sh\n".to_vec();
        assert_eq!(without_sections(text.clone()), text);
    }

    #[test]
    fn the_libraries_of_a_program_are_those_that_ldd_names() {
        let program = std::env::current_exe().expect("this test");
        let found = libraries(&program, &fs::read(&program).expect("readable")).expect("asked");
        let ldd = Command::new("ldd").arg(&program).output().expect("ldd is there");
        let ldd = String::from_utf8(ldd.stdout).expect("text");
        for library in ldd.split_whitespace().filter(|word| word.starts_with('/')) {
            assert!(
                found.iter().any(|known| are_one_file(known, Path::new(library))),
                "{library}: {found:?}"
            );
        }
        assert!(!found.is_empty());
    }
}
