//! Folders and archives of many files, such as sosreports: those that a reader knows by their names are kept, within limits.
//!
//! An archive is from a stranger. It is read from its beginning to its end, nothing is unpacked, and links are never followed.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use thiserror::Error;

/// The most entries of a folder or an archive.
const MOST_ENTRIES: u64 = 200_000;
/// The largest archive, unpacked, in bytes.
const MOST_BYTES: u64 = 4 << 30;
/// The largest file that is read, and the most of all files together.
const LARGEST_FILE: u64 = 16 << 20;
const MOST_KEPT: u64 = 64 << 20;
/// The most memory that a packed archive may ask for, in KiB: `xz -9` takes 65 MiB (xz(1)).
const MOST_XZ_MEMORY: u32 = 96 << 10;
/// The deepest folder.
const DEEPEST: usize = 16;
/// The longest name of an entry.
const LONGEST_NAME: u64 = 64 << 10;
/// tar(5): everything stands in blocks of this size.
const BLOCK: usize = 512;

/// Why a folder or an archive cannot be read.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A limit is exceeded.
    #[error("it has {0}; take out what matters (sos_commands, proc) and give that folder")]
    TooMuch(String),
    /// The archive is damaged.
    #[error("{0}")]
    Damaged(String),
}

/// A text of a folder or an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its path inside.
    pub path: String,
    /// Its text; what is not UTF-8 is replaced.
    pub text: String,
}

/// The known texts of a folder or an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// The texts that were read.
    pub members: Vec<Member>,
    /// Paths of those that the limits left out.
    pub left_out: Vec<String>,
}

/// How an archive is packed.
enum Packing {
    Plain,
    Gzip,
    Xz,
}

/// Whether a file is an archive, by how it begins; `None` if it is none.
fn packing(head: &[u8]) -> Option<Packing> {
    let is_tar = head.get(257..262) == Some(b"ustar");
    match head {
        [0x1f, 0x8b, ..] => Some(Packing::Gzip),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
        _ => is_tar.then_some(Packing::Plain),
    }
}

/// The known texts of a folder or an archive; `None` if the path is an ordinary file.
///
/// # Errors
/// The system refuses, the archive is damaged or of an unknown packing, or a limit is exceeded.
pub fn members(path: &Path) -> Result<Option<Members>, ArchiveError> {
    let mut kept = Extraction::default();
    if path.is_dir() {
        kept.folder(path, &mut PathBuf::new(), 0)?;
        return Ok(Some(kept.found));
    }
    let mut head = vec![0; BLOCK];
    let mut file = File::open(path)?;
    let length = fill(&mut file, &mut head)?;
    head.truncate(length);
    if head.starts_with(b"BZh") {
        let what = "it is packed with bzip2; unpack it first: `tar -xf FILE`, and give the folder";
        return Err(ArchiveError::Damaged(what.to_owned()));
    }
    let Some(packing) = packing(&head) else { return Ok(None) };
    let whole = io::Cursor::new(head).chain(file);
    match packing {
        Packing::Plain => kept.archive(whole)?,
        Packing::Gzip => kept.archive(MultiGzDecoder::new(BufReader::new(whole)))?,
        Packing::Xz => kept.archive(XzReader::new_mem_limit(BufReader::new(whole), true, MOST_XZ_MEMORY))?,
    }
    Ok(Some(kept.found))
}

/// How much of a file is read to see what wrote it, in bytes.
const LONGEST_HEAD: u64 = 2048;

#[derive(Default)]
struct Extraction {
    found: Members,
    entries: u64,
    bytes: u64,
    kept: u64,
}

impl Extraction {
    fn count_entry(&mut self) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(ArchiveError::TooMuch(format!("more than {MOST_ENTRIES} entries")));
        }
        Ok(())
    }

    /// Whether its size fits the limits. A file with a known name that does not fit is noted.
    fn has_room(&mut self, path: &str, size: u64) -> bool {
        let fits = size <= LARGEST_FILE && self.kept + size <= MOST_KEPT;
        if !fits && super::is_known(path) {
            self.found.left_out.push(path.to_owned());
        }
        fits
    }

    fn keep(&mut self, path: String, bytes: &[u8]) {
        self.kept += bytes.len() as u64;
        self.found.members.push(Member { path, text: String::from_utf8_lossy(bytes).into_owned() });
    }

    fn folder(&mut self, root: &Path, inside: &mut PathBuf, depth: usize) -> Result<(), ArchiveError> {
        if depth > DEEPEST {
            return Err(ArchiveError::TooMuch(format!("folders more than {DEEPEST} deep")));
        }
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(root.join(&*inside))? {
            self.count_entry()?;
            entries.push(entry?);
        }
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            // The kind of the entry itself: links are not followed.
            let kind = entry.file_type()?;
            inside.push(entry.file_name());
            if kind.is_dir() {
                self.folder(root, inside, depth + 1)?;
            } else if kind.is_file() {
                // A file of /proc says that it is empty.
                let path = inside.to_string_lossy().into_owned();
                if self.has_room(&path, entry.metadata()?.len()) {
                    let mut file = File::open(entry.path())?.take(LARGEST_FILE);
                    let mut bytes = Vec::new();
                    file.by_ref().take(LONGEST_HEAD).read_to_end(&mut bytes)?;
                    if is_wanted(&path, &bytes) {
                        file.read_to_end(&mut bytes)?;
                        self.keep(path, &bytes);
                    }
                }
            }
            inside.pop();
        }
        Ok(())
    }

    fn archive(&mut self, mut input: impl Read) -> Result<(), ArchiveError> {
        let mut long_name: Option<String> = None;
        let mut header = [0; BLOCK];
        loop {
            let length = fill(&mut input, &mut header)?;
            if length == 0 || header.iter().all(|byte| *byte == 0) {
                return Ok(());
            }
            if length < BLOCK {
                return Err(ArchiveError::Damaged("the archive ends within a header".to_owned()));
            }
            let head = Head::of(&header)?;
            self.count_entry()?;
            self.bytes = self.bytes.saturating_add(head.size);
            if self.bytes > MOST_BYTES {
                return Err(ArchiveError::TooMuch(format!("more than {MOST_BYTES} bytes")));
            }
            match head.kind {
                b'L' | b'x' if head.size <= LONGEST_NAME => {
                    let bytes = content(&mut input, head.size)?;
                    long_name =
                        if head.kind == b'L' { Some(text_of(&bytes)) } else { path_of(&bytes).or(long_name) };
                }
                b'0' | 0 => {
                    let path = long_name.take().unwrap_or(head.path);
                    let length = head.size.min(LONGEST_HEAD);
                    let mut bytes = Vec::new();
                    if self.has_room(&path, head.size) {
                        input.by_ref().take(length).read_to_end(&mut bytes)?;
                    }
                    let rest = padded(head.size) - bytes.len() as u64;
                    if bytes.len() as u64 == length && is_wanted(&path, &bytes) {
                        input.by_ref().take(head.size - length).read_to_end(&mut bytes)?;
                        if (bytes.len() as u64) < head.size {
                            let why = "the archive ends within a file".to_owned();
                            return Err(ArchiveError::Damaged(why));
                        }
                        skip(&mut input, padded(head.size) - head.size)?;
                        self.keep(path, &bytes);
                    } else {
                        skip(&mut input, rest)?;
                    }
                }
                // Folders, links, devices: nothing that could be read.
                _ => {
                    long_name = None;
                    skip(&mut input, padded(head.size))?;
                }
            }
        }
    }
}

/// Whether a reader knows the path of a file, or how it begins.
fn is_wanted(path: &str, head: &[u8]) -> bool {
    super::is_known(path) || super::commands::begins_known(&String::from_utf8_lossy(head))
}

/// The header of an entry: tar(5), the format ustar.
struct Head {
    path: String,
    size: u64,
    kind: u8,
}

impl Head {
    fn of(block: &[u8; BLOCK]) -> Result<Self, ArchiveError> {
        let sum = octal(&block[148..156]);
        let of_byte =
            |(at, byte): (usize, &u8)| u64::from(if (148..156).contains(&at) { b' ' } else { *byte });
        let found: u64 = block.iter().enumerate().map(of_byte).sum();
        if sum != Some(found) {
            return Err(ArchiveError::Damaged(
                "the archive is damaged: the checksum of a header differs".to_owned(),
            ));
        }
        let size = octal(&block[124..136])
            .ok_or_else(|| ArchiveError::Damaged("the archive has a file of unknown size".to_owned()))?;
        let (name, prefix) = (text_of(&block[..100]), text_of(&block[345..500]));
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        Ok(Self { path, size, kind: block[156] })
    }
}

/// A number in octal digits, or in 64 bits behind the byte 0x80 (GNU tar).
fn octal(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let last = field.last_chunk::<8>()?;
        return Some(u64::from_be_bytes(*last));
    }
    let text = str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    u64::from_str_radix(text, 8).ok()
}

fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The path of a pax header: `30 path=...` in a line.
fn path_of(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().find_map(|line| line.split_once(" path=").map(|(_, path)| path.to_owned()))
}

fn padded(size: u64) -> u64 {
    size.div_ceil(BLOCK as u64) * BLOCK as u64
}

fn content(input: &mut impl Read, size: u64) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = Vec::new();
    input.take(size).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < size {
        return Err(ArchiveError::Damaged("the archive ends within a file".to_owned()));
    }
    skip(input, padded(size) - size)?;
    Ok(bytes)
}

fn skip(input: &mut impl Read, size: u64) -> Result<(), ArchiveError> {
    let skipped = io::copy(&mut input.take(size), &mut io::sink())?;
    if skipped < size {
        return Err(ArchiveError::Damaged("the archive ends within a file".to_owned()));
    }
    Ok(())
}

/// Fills a buffer as far as the input goes.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match input.read(&mut buffer[length..])? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of an entry, as tar(1) writes it.
    fn header(path: &str, size: u64, kind: u8) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..path.len()].copy_from_slice(path.as_bytes());
        block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        block[156] = kind;
        block[257..262].copy_from_slice(b"ustar");
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        block
    }

    fn read(input: impl Read) -> Result<Vec<Member>, ArchiveError> {
        let mut kept = Extraction::default();
        kept.archive(input).map(|()| kept.found.members)
    }

    fn entry(path: &str, text: &str, kind: u8) -> Vec<u8> {
        let mut bytes = header(path, text.len() as u64, kind).to_vec();
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len().div_ceil(BLOCK) * BLOCK, 0);
        bytes
    }

    #[test]
    fn known_files_are_kept_and_links_and_others_are_not() {
        let long = format!("{}/proc/uptime", "x".repeat(200));
        let all = [
            entry("sos/etc/shadow", "secret", b'0'),
            entry("sos/proc/uptime", "12.5 3.0\n", b'0'),
            entry("sos/proc/vmstat", "", b'2'),
            entry("././@LongLink", &long, b'L'),
            entry("short", "99.5 3.0\n", b'0'),
            entry("pax", &format!("30 path={}\n", "a/sos_commands/networking/netstat_-s"), b'x'),
            entry("short", "Tcp:\n", b'0'),
        ];
        let found = read(all.concat().as_slice()).unwrap();
        let paths: Vec<&str> = found.iter().map(|member| member.path.as_str()).collect();
        assert_eq!(paths, ["sos/proc/uptime", &long, "a/sos_commands/networking/netstat_-s"]);
        assert_eq!(found[0].text, "12.5 3.0\n");
    }

    /// The file `sos/proc/uptime` with a line in it: `tar --format=ustar -c sos | xz -9 --check=crc32`, in hexadecimal digits.
    const XZ: &str = "\
         fd377a585a0000016922de36020021011c00000010cf58cce027ff00775d00399bcac924d1131de7f72da88a064b82e979fcaa66be9de30879927727\
         edca44452ba4917cab0410eaf650b005dc784d7c1c836093b88a675d85d06c1152ff6e48abd64cd37ccf7856069d9098162b659222e29f39a27272d0\
         a5858bc410123c64c3b46cd2f2f21687b4c43591d1c81b88e567dacfd2000000b5a8b3b400018f0180500000ebc336903e300d8b020000000001595a\
         ";

    #[test]
    fn an_archive_of_xz_is_read_and_a_damaged_one_ends_with_a_message() {
        let digits = XZ.trim().as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
        let mut bytes: Vec<u8> = digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sos.tar.xz");
        std::fs::write(&path, &bytes).unwrap();
        let found = members(&path).unwrap().unwrap();
        let expected = Member { path: "sos/proc/uptime".to_owned(), text: "12.5 3.0\n".to_owned() };
        assert_eq!(found, Members { members: vec![expected], left_out: Vec::new() });
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(members(&path), Err(ArchiveError::Io(_) | ArchiveError::Damaged(_))));
    }

    #[test]
    fn texts_beyond_the_limits_are_named() {
        let mut kept = Extraction { kept: MOST_KEPT - 5, ..Extraction::default() };
        assert!(kept.has_room("sos/proc/stat", 5) && !kept.has_room("sos/proc/vmstat", 6));
        assert!(!kept.has_room("sos/proc/uptime", LARGEST_FILE + 1) && !kept.has_room("sos/etc/passwd", 6));
        assert_eq!(kept.found.left_out, ["sos/proc/vmstat", "sos/proc/uptime"]);
    }

    /// One block again and again.
    struct Endless([u8; BLOCK], usize);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            for byte in buffer.iter_mut() {
                *byte = self.0[self.1 % BLOCK];
                self.1 += 1;
            }
            Ok(buffer.len())
        }
    }

    #[test]
    fn hostile_archives_end_with_a_message() {
        let of = |input: &mut dyn Read| read(input).unwrap_err().to_string();
        let many = of(&mut Endless(header("proc/uptime", 0, b'0'), 0));
        assert!(many.starts_with("it has more than 200000 entries"), "{many}");
        let bomb = of(&mut header("proc/uptime", 5 << 30, b'0').as_slice());
        assert!(bomb.starts_with("it has more than 4294967296 bytes"), "{bomb}");
        let cut = of(&mut header("proc/uptime", 100, b'0').as_slice());
        assert_eq!(cut, "the archive ends within a file");
        let mut damaged = header("proc/uptime", 0, b'0');
        damaged[0] ^= 1;
        assert!(of(&mut damaged.as_slice()).contains("checksum"));
    }
}
