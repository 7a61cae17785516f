//! Names of the string functions that the C library chooses when it is loaded, by what the CPU can do (`STT_GNU_IFUNC`).
//!
//! Its file names only who chooses, so that the busiest function of many programs, as `memcmp` or `strlen`, has no name there. This process has loaded the
//! same library on the same CPU, and the loader tells it what was chosen (dlsym(3)).

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

/// Functions that are chosen (sysdeps/x86_64/multiarch and sysdeps/aarch64/multiarch of glibc) and written in assembly, next to each other.
const CHOSEN: [&CStr; 24] = [
    c"memchr",
    c"memcmp",
    c"memcpy",
    c"memmove",
    c"mempcpy",
    c"memrchr",
    c"memset",
    c"rawmemchr",
    c"stpcpy",
    c"strcasecmp",
    c"strcat",
    c"strchr",
    c"strchrnul",
    c"strcmp",
    c"strcpy",
    c"strlen",
    c"strncasecmp",
    c"strncat",
    c"strncmp",
    c"strncpy",
    c"strnlen",
    c"strrchr",
    c"wcslen",
    c"wmemset",
];
/// Longest of these functions, in bytes.
const LONGEST: u64 = 4096;

/// Chosen functions of one file.
#[derive(Debug, Default)]
pub(super) struct CLibrary {
    /// Its device and inode.
    file: Option<(u64, u64)>,
    /// The functions by where they begin in it.
    begins: BTreeMap<u64, &'static str>,
}

impl CLibrary {
    /// The library of this process.
    pub(super) fn of_this_process() -> Self {
        let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return Self::default() };
        let places =
            CHOSEN.iter().filter_map(|name| Some((name.to_str().ok()?, mapped(&maps, address(name))?)));
        let places: Vec<(&str, (&str, u64))> = places.collect();
        let Some((_, (path, _))) = places.first() else { return Self::default() };
        let file = fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
        let mut begins = BTreeMap::new();
        for (name, (_, offset)) in places.iter().filter(|(_, (other, _))| other == path) {
            begins.entry(*offset).or_insert(*name);
        }
        Self { file, begins }
    }

    /// The function at an offset of a file in which no symbol names it.
    pub(super) fn name(&self, file: &File, offset: u64) -> Option<&'static str> {
        let (begin, name) = self.begins.range(..=offset).next_back()?;
        let about = file.metadata().ok().filter(|_| offset - begin < LONGEST)?;
        (self.file == Some((about.dev(), about.ino()))).then_some(*name)
    }
}

/// Where the loader finds a function; 0 in a program without a loader.
fn address(name: &CStr) -> u64 {
    #[expect(unsafe_code, reason = "dlsym(3) has no safe form")]
    // SAFETY: the name ends with NUL, and the symbol is not called.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    found as u64
}

/// The file that is mapped at an address, and the offset there, by lines of `/proc/PID/maps` (proc_pid_maps(5)).
fn mapped(maps: &str, address: u64) -> Option<(&str, u64)> {
    maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (from, to, offset) = (number(from)?, number(to)?, number(words.nth(1)?)?);
        let path = words.nth(2)?;
        (from..to).contains(&address).then(|| (path, address - from + offset))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_function_is_known_within_its_own_file() {
        let library = CLibrary::of_this_process();
        let (begin, name) = library.begins.iter().next().expect("a dynamic program");
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let (path, _) = mapped(&maps, address(c"strlen")).unwrap();
        let file = File::open(path).unwrap();
        assert_eq!(library.name(&file, begin + 8), Some(*name));
        assert_eq!(library.name(&file, begin - 1), None, "before all of them");
        assert_eq!(library.name(&File::open("/proc/self/exe").unwrap(), begin + 8), None);
        // The last one, with nothing behind it.
        let (end, _) = library.begins.iter().next_back().unwrap();
        assert_eq!(library.name(&file, end + LONGEST), None);
    }

    #[test]
    fn an_address_is_found_in_the_map_that_contains_it() {
        let maps = "5000-7000 r--p 00000000 fe:00 12 /lib/a b\n8000-9000 r-xp 00002000 fe:00 13 /lib/libc.so.6\n9000-a000 rw-p 00000000 00:00 0 \n";
        assert_eq!(mapped(maps, 0x8010), Some(("/lib/libc.so.6", 0x2010)));
        assert_eq!(mapped(maps, 0x9010), None, "no file");
        assert_eq!(mapped(maps, 0), None);
    }
}
