//! From the name of a kernel to its image and its modules.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::package;
use crate::guest_error::KernelError;

/// A kernel that a guest can boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// What QEMU loads: a bzImage.
    pub(crate) image: PathBuf,
    /// The folder of its modules, where there is one.
    pub(crate) modules: Option<PathBuf>,
    /// How it was built: the file of its configuration, where there is one.
    pub(crate) config: Option<PathBuf>,
    /// What it calls itself, such as `6.1.0-50-cloud-amd64`.
    pub(crate) release: String,
}

/// How many bytes at the start tell whether a file is an image, and where it says what it is.
const HEADER: usize = 0x264;

impl Kernel {
    /// Finds the kernel of this name: `debian:VERSION`, the file of a package, or an image.
    pub(crate) fn find(name: &str) -> Result<Self, KernelError> {
        if let Some(version) = name.strip_prefix("debian:") {
            return Self::in_package(name, &package::fetch(version)?);
        }
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension == "deb") {
            return Self::in_package(name, &package::unpack(path)?);
        }
        Self::of_image(path)
    }

    fn in_package(name: &str, root: &Path) -> Result<Self, KernelError> {
        let boot = root.join("boot");
        let none = || KernelError::NoKernelInPackage { package: name.to_owned() };
        let entries = fs::read_dir(&boot).map_err(|_| none())?;
        let mut images = entries.flatten().map(|entry| entry.path()).filter(|path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("vmlinuz-"))
        });
        Self::of_image(&images.next().ok_or_else(none)?)
    }

    fn of_image(path: &Path) -> Result<Self, KernelError> {
        let failed = |source| KernelError::Read { path: path.to_owned(), source };
        let path = fs::canonicalize(path).map_err(failed)?;
        let release = release(&path).map_err(failed)?;
        let release = release.ok_or_else(|| KernelError::NoImage { path: path.clone() })?;
        Ok(Self { modules: modules(&path, &release), config: config(&path, &release), image: path, release })
    }
}

/// What an image calls itself; none for what is no image (Documentation/arch/x86/boot.rst: `header`, `kernel_version`).
fn release(image: &Path) -> io::Result<Option<String>> {
    const MAGIC: usize = 0x202;
    const VERSION: usize = 0x20e;
    /// What offsets in the header count from.
    const BASE: u64 = 0x200;
    let mut file = File::open(image)?;
    let mut header = Vec::new();
    file.by_ref().take(HEADER as u64).read_to_end(&mut header)?;
    if header.get(MAGIC..MAGIC + 4) != Some(b"HdrS") {
        return Ok(None);
    }
    let at = header.get(VERSION..).and_then(|rest| rest.first_chunk()).map(|n| u16::from_le_bytes(*n));
    let Some(at) = at.filter(|at| *at != 0) else { return Ok(Some("unknown".into())) };
    file.seek(SeekFrom::Start(BASE + u64::from(at)))?;
    let mut text = Vec::new();
    file.take(256).read_to_end(&mut text)?;
    let text = text.split(|byte| *byte == 0 || *byte == b' ').next().unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(text).into_owned()))
}

/// Where the modules of an image are: beside it in a package or on a machine (`boot` and `lib/modules/RELEASE`), or in the tree where it was
/// built (`arch/x86/boot/bzImage`).
fn modules(image: &Path, release: &str) -> Option<PathBuf> {
    let root = image.parent()?.parent()?;
    let installed = ["lib/modules", "usr/lib/modules"].map(|folder| root.join(folder).join(release));
    let tree = image.ancestors().nth(4).map(Path::to_owned);
    installed.into_iter().chain(tree).find(|folder| folder.join("modules.order").is_file())
}

/// Where the configuration of an image is: beside it, as distributions have it, or in the tree where it was built.
fn config(image: &Path, release: &str) -> Option<PathBuf> {
    let beside = image.with_file_name(format!("config-{release}"));
    let tree = image.ancestors().nth(4).map(|tree| tree.join(".config"));
    [Some(beside), tree].into_iter().flatten().find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that has of an image what is looked at.
    pub(crate) fn image(release: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x1000];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x400u16.to_le_bytes());
        let text = format!("{release} (root@there) #1 SMP\0");
        bytes[0x600..0x600 + text.len()].copy_from_slice(text.as_bytes());
        bytes
    }

    fn write(at: &Path, content: &[u8]) {
        fs::create_dir_all(at.parent().expect("below a folder")).expect("made");
        fs::write(at, content).expect("written");
    }

    #[test]
    fn an_image_tells_its_release_and_its_modules_are_beside_it_or_in_its_tree() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("there");
        let installed = root.join("boot/vmlinuz-6.1.0-test");
        write(&installed, &image("6.1.0-test"));
        let found = Kernel::find(installed.to_str().expect("text")).expect("an image");
        assert_eq!((found.release.as_str(), &found.modules), ("6.1.0-test", &None));
        write(&root.join("lib/modules/6.1.0-test/modules.order"), b"");
        let found = Kernel::find(installed.to_str().expect("text")).expect("an image");
        assert_eq!(found.modules, Some(root.join("lib/modules/6.1.0-test")));
        assert_eq!(found.config, None);
        write(&root.join("boot/config-6.1.0-test"), b"");
        let found = Kernel::find(installed.to_str().expect("text")).expect("an image");
        assert_eq!(found.config, Some(root.join("boot/config-6.1.0-test")));
        let built = root.join("tree/arch/x86/boot/bzImage");
        write(&built, &image("6.12.0-own"));
        write(&root.join("tree/modules.order"), b"");
        let found = Kernel::find(built.to_str().expect("text")).expect("an image");
        assert_eq!(found.modules, Some(root.join("tree")));
        write(&root.join("tree/.config"), b"");
        let found = Kernel::find(built.to_str().expect("text")).expect("an image");
        assert_eq!(found.config, Some(root.join("tree/.config")));
    }

    #[test]
    fn what_is_no_kernel_is_refused_with_what_was_expected() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = folder.path().join("text");
        fs::write(&text, "no kernel").expect("written");
        let error = Kernel::find(text.to_str().expect("text")).expect_err("no image").to_string();
        assert!(error.contains("this is no bzImage"), "{error}");
        let error = Kernel::find("/no/such/kernel").expect_err("not there").to_string();
        assert_eq!(error, "kernel /no/such/kernel: No such file or directory (os error 2)");
    }
}
