//! The modules that a guest's kernel needs, in the order in which they can be loaded.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The modules of one kernel, by name.
#[derive(Debug)]
pub(super) struct Modules {
    files: BTreeMap<String, PathBuf>,
    builtin: Vec<String>,
}

impl Modules {
    /// Those below a folder: `/lib/modules/RELEASE`, or the tree in which a kernel was built.
    ///
    /// # Errors
    /// When `modules.order`, which names them (Documentation/kbuild/kbuild.rst), cannot be read.
    pub(super) fn below(folder: &Path) -> io::Result<Self> {
        let order = fs::read_to_string(folder.join("modules.order"))?;
        let files = order.lines().filter_map(|line| {
            // Built trees name objects in modules.order from Linux 6.4 on.
            let line = line.strip_suffix(".o").map_or_else(|| line.to_owned(), |stem| format!("{stem}.ko"));
            Some((name_of(Path::new(&line))?, folder.join(line)))
        });
        // What is built in needs no loading; a kernel without the list has to have all that is not in a file.
        let builtin = fs::read_to_string(folder.join("modules.builtin")).unwrap_or_default();
        let builtin = builtin.lines().filter_map(|line| name_of(Path::new(line)));
        Ok(Self { files: files.collect(), builtin: builtin.collect() })
    }

    /// Appends a module to the list for loading, after its dependencies. A built-in module needs nothing. The guest finds out whether an unknown
    /// one is built in.
    pub(super) fn load(&self, name: &str, loaded: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
        if loaded.iter().any(|(known, _)| known == name) || self.builtin.iter().any(|known| known == name) {
            return Ok(());
        }
        let Some(file) = self.files.get(name) else { return Ok(()) };
        let content = read(file)?;
        for needed in depends(&content) {
            self.load(&needed, loaded)?;
        }
        loaded.push((name.to_owned(), content));
        Ok(())
    }
}

/// The name of a module by that of its file, which may have hyphens where the name has underscores, and may be compressed.
fn name_of(file: &Path) -> Option<String> {
    let (stem, _) = file.file_name()?.to_str()?.split_once(".ko")?;
    Some(stem.replace('-', "_"))
}

/// What a module says of itself: strings, each with a NUL at its end, one of which is `depends=NAME,NAME` (modinfo(8)).
fn depends(module: &[u8]) -> Vec<String> {
    let names = module.split(|byte| *byte == 0).find_map(|string| string.strip_prefix(b"depends="));
    let names = String::from_utf8_lossy(names.unwrap_or_default());
    names.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

/// A module's file, or the compressed one that a package has in its place.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let with = |suffix: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let candidates = [file.to_owned(), with(".xz"), with(".zst")];
    let found = candidates.iter().find(|candidate| candidate.exists()).unwrap_or(&candidates[0]);
    let of_file = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", found.display()));
    let bytes = fs::read(found).map_err(of_file)?;
    unpacked(found.extension(), bytes).map_err(of_file)
}

fn unpacked(extension: Option<&OsStr>, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    match extension.and_then(OsStr::to_str) {
        Some("xz") => {
            lzma_rust2::XzReader::new(&*bytes, true).read_to_end(&mut plain)?;
        }
        Some("zst") => {
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(&*bytes).map_err(io::Error::other)?;
            decoder.read_to_end(&mut plain)?;
        }
        _ => return Ok(bytes),
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with such modules, each a name and the names of those that it depends on.
    fn folder(modules: &[(&str, &str)], builtin: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let mut order = String::new();
        for (file, depends) in modules {
            fs::write(folder.path().join(file), format!("\x7fELF\0name=x\0depends={depends}\0"))
                .expect("written");
            order += &format!("{}\n", file.trim_end_matches(".xz").trim_end_matches(".zst"));
        }
        fs::write(folder.path().join("modules.order"), order).expect("written");
        fs::write(folder.path().join("modules.builtin"), builtin).expect("written");
        folder
    }

    #[test]
    fn a_module_comes_after_all_that_it_depends_on_and_once() {
        let modules = [
            ("net-top.ko", "mid_a,mid-b"),
            ("mid-a.ko", "base"),
            ("mid-b.ko", "base,there"),
            ("base.ko", ""),
        ];
        let folder = folder(&modules, "kernel/there.ko\n");
        let known = Modules::below(folder.path()).expect("read");
        let mut loaded = Vec::new();
        known.load("net_top", &mut loaded).expect("found");
        known.load("mid_a", &mut loaded).expect("found");
        known.load("of_no_file", &mut loaded).expect("it may be built in");
        let names: Vec<&str> = loaded.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["base", "mid_a", "mid_b", "net_top"]);
    }

    #[test]
    #[ignore = "needs xz and zstd; cargo xtask test has both"]
    fn compressed_modules_are_read_as_their_programs_wrote_them() {
        let text = b"\x7fELF\0depends=\0 a module".repeat(50);
        for (program, suffix) in [("xz", "xz"), ("zstd", "zst")] {
            let folder = tempfile::tempdir().expect("a folder");
            let plain = folder.path().join("m.ko");
            fs::write(&plain, &text).expect("written");
            let status = std::process::Command::new(program)
                .args(["--quiet", "--check=crc32"].iter().take(if program == "xz" { 2 } else { 1 }))
                .arg(&plain)
                .status();
            assert!(status.expect("the program is there").success(), "{program}");
            if plain.exists() {
                fs::remove_file(&plain).expect("removed");
            }
            assert_eq!(read(&plain).expect("read"), text, "{suffix}");
        }
    }
}
