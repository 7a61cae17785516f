//! Text of any length is read in memory that does not grow with it. This is a program of its own, so that nothing else counts.

use std::fs;
use std::io::{self, Read};

use plimsoll_import::figures::{self, Options};

/// So much is read of each kind.
const BYTES: usize = 12 << 20;
/// By so much the memory may grow meanwhile: a small part of that.
const MAY_GROW: u64 = 4 << 20;

/// The same lines again and again.
struct Repeated<'t> {
    head: &'t [u8],
    lines: &'t [u8],
    at: usize,
    left: usize,
}

impl Read for Repeated<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let source = if self.head.is_empty() { &self.lines[self.at..] } else { self.head };
        let taken = source.len().min(buffer.len()).min(self.left);
        buffer[..taken].copy_from_slice(&source[..taken]);
        if self.head.is_empty() {
            self.at = (self.at + taken) % self.lines.len();
        } else {
            self.head = &self.head[taken..];
        }
        self.left -= taken;
        Ok(taken)
    }
}

/// The most memory that this process ever had, in bytes: proc(5), `VmHWM`.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

fn sample(path: &str) -> String {
    fs::read_to_string(format!("{}/tests/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn text_of_any_length_is_read_in_memory_that_does_not_grow_with_it() {
    let vmstat = sample("samples/vmstat.txt");
    let (heading, rows) = vmstat.split_at(vmstat.match_indices('\n').nth(1).unwrap().0 + 1);
    let prose =
        "Nobody else is logged in, and a reboot is the only thing that helps (see below, 12 tries).\n\n";
    let csv = "alpha;108,43;7\nbeta;99,7;8\n";
    for (what, head, lines, has_figures) in [
        ("vmstat", heading, rows, true),
        ("sar", "", &sample("samples/sar.txt"), true),
        ("hdparm", "", &sample("samples/hdparm.txt"), true),
        ("csv", "host;reads;writes\n", csv, true),
        ("json", "", &sample("documented/k6-lines.json"), true),
        ("tcpdump", "", &sample("pages/tcpdump-2001.txt"), false),
        ("prose", "", prose, false),
    ] {
        let read = |left| {
            let input = Repeated { head: head.as_bytes(), lines: lines.as_bytes(), at: 0, left };
            figures::stream(input, &Options::default(), &mut |_| {}).unwrap()
        };
        // What there is once, however long the text: the tables of the formats, the first stretches of lines.
        read(BYTES / 16);
        let before = peak();
        let coverage = read(BYTES);
        let grown = peak() - before;
        assert!(grown < MAY_GROW, "{what}: {grown} bytes more for {BYTES} bytes");
        assert_eq!(coverage.figures > 10_000, has_figures, "{what}: {coverage:?}");
    }
}
