//! The documents of a workload like that of SPECweb96.
//!
//! Four classes of nine sizes each: 0.1 to 0.9 KB, 1 to 9 KB, 10 to 90 KB, 100 to 900 KB, asked for in 35, 50, 14 and 1 % of the
//! requests. A directory has one document of each class and size, 5 MB in all, and their number grows with the square root of the rate
//! that a server is to carry, 10·√(rate/5). <https://www.spec.org/osg/web96/workload.html> says where the classes come from. Inside of a class
//! documents are not equally popular there; here the n-th most popular of them is asked for in proportion to 1/n (Zipf).

use std::fmt;
use std::str::FromStr;

/// How many classes of size there are.
pub const CLASSES: u8 = 4;
/// How many documents of each class a directory has.
pub const FILES: u8 = 9;
/// Which share of the requests is for each class.
pub const SHARES: [f64; CLASSES as usize] = [0.35, 0.50, 0.14, 0.01];
/// The most directories there can be.
pub const MOST_DIRECTORIES: u32 = 100_000;

/// One document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Its directory, from 0.
    pub directory: u32,
    /// Its class, from 0.
    pub class: u8,
    /// Its number in the class, from 1: how many tenths of the class's span it has.
    pub file: u8,
}

impl Document {
    /// Its length in bytes.
    pub fn length(self) -> u64 {
        1024 * 10u64.pow(u32::from(self.class)) * u64::from(self.file) / 10
    }
}

/// The path of the document.
impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/dir{:05}/class{}_{}", self.directory, self.class, self.file)
    }
}

/// A path that is not that of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no path of a document, such as `/dir00000/class0_1`")]
pub struct NoDocument;

impl FromStr for Document {
    type Err = NoDocument;

    fn from_str(path: &str) -> Result<Self, NoDocument> {
        let parse = || {
            let (directory, rest) = path.strip_prefix("/dir")?.split_once("/class")?;
            let (class, file) = rest.split_once('_')?;
            Some(Self { directory: digits(directory, 5)?, class: digits(class, 1)?, file: digits(file, 1)? })
        };
        parse().filter(|found| found.class < CLASSES && found.file >= 1).ok_or(NoDocument)
    }
}

/// Parses a number of exactly `number` digits.
fn digits<N: FromStr>(text: &str, number: usize) -> Option<N> {
    let all = text.len() == number && text.bytes().all(|byte| byte.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

/// Number of directories of a server for `rate` requests per second: at least 1.
pub fn directories(rate: f64) -> u32 {
    let number = 10.0 * (rate.max(0.0) / 5.0).sqrt();
    (number as u32).clamp(1, MOST_DIRECTORIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_back_as_its_document() {
        for (directory, class, file, path, length) in [
            (0, 0, 1, "/dir00000/class0_1", 102),
            (7, 1, 9, "/dir00007/class1_9", 9 << 10),
            (99_999, 3, 5, "/dir99999/class3_5", 500 << 10),
        ] {
            let document = Document { directory, class, file };
            assert_eq!((document.to_string().as_str(), document.length()), (path, length));
            assert_eq!(path.parse(), Ok(document));
        }
        for path in ["/", "/dir0/class0_1", "/dir00000/class4_1", "/dir00000/class0_0", "/dir00000/class0_+"]
        {
            assert_eq!(path.parse::<Document>(), Err(NoDocument), "{path}");
        }
    }

    #[test]
    fn a_directory_holds_five_megabytes_and_their_number_grows_with_the_rate() {
        let lengths = (0..CLASSES).flat_map(|class| (1..=FILES).map(move |file| (class, file)));
        let bytes: u64 = lengths.map(|(class, file)| Document { directory: 0, class, file }.length()).sum();
        assert!((5_000_000..5_200_000).contains(&bytes), "{bytes}");
        assert_eq!((directories(0.0), directories(5.0), directories(500.0)), (1, 10, 100));
    }
}
