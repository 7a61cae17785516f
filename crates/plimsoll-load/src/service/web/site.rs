//! The served documents: one at `/`, documents of any size at `/?s=SIZE`, the files of a folder, and the [`documents`]
//! of a web workload if the folder lacks them.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use plimsoll_model::documents;
use plimsoll_model::experiment::SendBy;
use plimsoll_model::frame::Failure;
use plimsoll_model::units::ByteSize;
use plimsoll_path::Folder;

use super::status::Status;
use crate::failure::other;

/// A site.
pub(super) struct Site {
    document: u64,
    root: Option<Folder>,
    by: SendBy,
}

/// A document that was found.
pub(super) enum Document {
    /// Text of this number of bytes.
    Text(u64),
    /// A file of this length and media type.
    File(File, u64, &'static str),
}

impl Document {
    /// Its length in bytes.
    pub(super) fn length(&self) -> u64 {
        match *self {
            Self::Text(length) | Self::File(_, length, _) => length,
        }
    }

    /// Its media type.
    pub(super) fn media_type(&self) -> &'static str {
        match self {
            Self::Text(_) => "text/plain",
            Self::File(_, _, media_type) => media_type,
        }
    }
}

impl Site {
    /// A site whose document at `/` has `document` bytes, with the files of a folder below it.
    pub(super) fn open(document: u64, root: Option<&str>, by: SendBy) -> Result<Self, Failure> {
        let root = root.map(|path| {
            Folder::open(Path::new(path)).map_err(|error| other("open the folder of `root`", &error))
        });
        Ok(Self { document, root: root.transpose()?, by })
    }

    /// How documents that are no files are handed to the kernel.
    pub(super) fn by(&self) -> SendBy {
        self.by
    }

    /// The document that a request's target names.
    ///
    /// # Errors
    /// The status that says why there is none.
    pub(super) fn find(&self, target: &str) -> Result<Document, Status> {
        let target = without_authority(target);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = decode(path.strip_prefix('/').ok_or(Status::BadRequest)?)?;
        if !path.is_empty() {
            return match (self.file(&path), format!("/{path}").parse::<documents::Document>()) {
                (Err(Status::NotFound), Ok(document)) => Ok(Document::Text(document.length())),
                (found, _) => found,
            };
        }
        let size = query.split('&').find_map(|pair| pair.strip_prefix("s="));
        let size = size.map(str::parse::<ByteSize>).transpose().map_err(|_| Status::BadRequest)?;
        Ok(Document::Text(size.map_or(self.document, |size| size.0)))
    }

    fn file(&self, path: &str) -> Result<Document, Status> {
        if path.contains('\0') || path.split('/').any(|part| part == "..") {
            return Err(Status::BadRequest);
        }
        let root = self.root.as_ref().ok_or(Status::NotFound)?;
        // The owner of the folder may have links in it; the kernel keeps the look-up below the root, links included. O_NONBLOCK: a fifo without a
        // writer must not hold a process.
        let how = OpenHow::new()
            .flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        let opened = openat2(root, path.trim_matches('/'), how).map_err(|error| match error {
            nix::Error::EACCES | nix::Error::EPERM | nix::Error::EXDEV => Status::Forbidden,
            nix::Error::EMFILE | nix::Error::ENFILE | nix::Error::ENOMEM => Status::Unavailable,
            _ => Status::NotFound,
        })?;
        let file = File::from(opened);
        let metadata = file.metadata().map_err(|_| Status::NotFound)?;
        if metadata.is_file() {
            Ok(Document::File(file, metadata.len(), media_type(path)))
        } else {
            Err(Status::NotFound)
        }
    }
}

/// The path and query of a target in absolute form (RFC 9112, section 3.2.2), or the target itself.
fn without_authority(target: &str) -> &str {
    let Some(rest) = target.strip_prefix("http://") else { return target };
    match rest.find(['/', '?']) {
        Some(at) if rest.as_bytes()[at] == b'/' => &rest[at..],
        _ => "/",
    }
}

/// A path with its `%XX` replaced.
fn decode(path: &str) -> Result<Cow<'_, str>, Status> {
    if !path.contains('%') {
        return Ok(path.into());
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2).ok_or(Status::BadRequest)?;
        let value = |digit: u8| char::from(digit).to_digit(16).ok_or(Status::BadRequest);
        bytes.push((value(digits[0])? << 4 | value(digits[1])?) as u8);
        rest = tail;
    }
    String::from_utf8(bytes).map(Cow::from).map_err(|_| Status::BadRequest)
}

fn media_type(path: &str) -> &'static str {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension {
        "html" | "htm" => "text/html",
        "txt" | "md" => "text/plain",
        "css" => "text/css",
        "js" => "text/javascript",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> (tempfile::TempDir, Site) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(outer.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("sub/a b.html"), "hello").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        let site = Site::open(42, root.to_str(), SendBy::Write).unwrap();
        (outer, site)
    }

    fn length(site: &Site, target: &str) -> Result<u64, Status> {
        site.find(target).map(|document| document.length())
    }

    #[test]
    fn sizes_are_powers_of_1024_in_either_case() {
        let (_folder, site) = site();
        let cases = [("/", 42), ("/?s=0", 0), ("/?s=1k", 1024), ("/?a=b&s=1M", 1 << 20), ("/?s=1g", 1 << 30)];
        for (target, bytes) in cases {
            assert_eq!(length(&site, target), Ok(bytes), "{target}");
        }
        assert_eq!(length(&site, "/?s=-1"), Err(Status::BadRequest));
        assert_eq!(length(&site, "/?s=big"), Err(Status::BadRequest));
    }

    #[test]
    fn files_are_found_below_the_root() {
        let (_folder, site) = site();
        assert_eq!(length(&site, "/sub/a%20b.html"), Ok(5));
        assert_eq!(length(&site, "http://any.host:80/sub/a%20b.html?x"), Ok(5));
        assert_eq!(site.find("/sub/a%20b.html").unwrap().media_type(), "text/html");
        assert_eq!(length(&site, "/sub"), Err(Status::NotFound));
        assert_eq!(length(&site, "/sub/nothing"), Err(Status::NotFound));
    }

    #[test]
    fn nothing_outside_the_root_is_served() {
        let (_folder, site) = site();
        for target in ["/../secret", "/sub/../../secret", "/%2e%2e/secret", "/sub/%2E./%2e./secret", "/a%00"]
        {
            assert_eq!(length(&site, target), Err(Status::BadRequest), "{target}");
        }
        assert_eq!(length(&site, "/link"), Err(Status::Forbidden));
        assert_eq!(length(&site, "//etc/passwd"), Err(Status::NotFound));
    }

    #[test]
    fn the_documents_of_the_workload_are_there() {
        let (_folder, site) = site();
        assert_eq!(length(&site, "/dir00003/class1_2"), Ok(2048));
        assert_eq!(length(&site, "/dir00003/class4_2"), Err(Status::NotFound));
    }

    #[test]
    fn broken_escapes_are_refused() {
        let (_folder, site) = site();
        for target in ["/%", "/%4", "/%zz", "/%ff", "relative"] {
            assert_eq!(length(&site, target), Err(Status::BadRequest), "{target}");
        }
    }

    #[test]
    fn without_a_folder_there_are_no_files() {
        let site = Site::open(1, None, SendBy::Write).unwrap();
        assert_eq!(length(&site, "/sub"), Err(Status::NotFound));
    }
}
