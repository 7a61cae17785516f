//! Memory of reading does not grow with the length of the text. A program of its own, so that no other test counts.

use std::fs;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use plimsoll_import::figures::{self, Options};

/// Bytes that are read of each kind.
const BYTES: usize = 12 << 20;
/// Bytes by which the memory may grow meanwhile, a small part of those.
const MAY_GROW: u64 = 4 << 20;

/// The given lines, repeated up to a length.
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

/// Kinds of text: what stands above the lines, the lines that come again and again, and whether they have figures.
fn kinds() -> Vec<(&'static str, String, String, bool)> {
    let vmstat = sample("samples/vmstat.txt");
    let (heading, rows) = vmstat.split_at(vmstat.match_indices('\n').nth(1).unwrap().0 + 1);
    let prose =
        "Nobody else is logged in, and a reboot is the only thing that helps (see below, 12 tries).\n\n";
    let csv = "alpha;108,43;7\nbeta;99,7;8\n";
    let none = String::new;
    vec![
        ("vmstat", heading.to_owned(), rows.to_owned(), true),
        ("sar", none(), sample("samples/sar.txt"), true),
        ("hdparm", none(), sample("samples/hdparm.txt"), true),
        ("csv", "host;reads;writes\n".to_owned(), csv.to_owned(), true),
        ("json", none(), sample("documented/k6-lines.json"), true),
        ("tcpdump", none(), sample("pages/tcpdump-2001.txt"), false),
        ("prose", none(), prose.to_owned(), false),
    ]
}

/// Input of this kind with `left` bytes.
fn repeated<'t>(head: &'t str, lines: &'t str, left: usize) -> Repeated<'t> {
    Repeated { head: head.as_bytes(), lines: lines.as_bytes(), at: 0, left }
}

#[test]
fn text_of_any_length_is_read_in_memory_that_does_not_grow_with_it() {
    for (what, head, lines, has_figures) in kinds() {
        let read =
            |left| figures::stream(repeated(&head, &lines, left), &Options::default(), &mut |_| {}).unwrap();
        // What there is once, however long the text: the tables of the formats, the first stretches of lines.
        read(BYTES / 16);
        let before = peak();
        let coverage = read(BYTES);
        // The kernel adds up counters of each CPU, and may print less than before.
        let grown = peak().saturating_sub(before);
        assert!(grown < MAY_GROW, "{what}: {grown} bytes more for {BYTES} bytes");
        assert_eq!(coverage.figures > 10_000, has_figures, "{what}: {coverage:?}");
    }
    reading_takes_no_more_than_some_times_what_finding_its_words_takes();
}

/// More than this many times the plain word count's time is a defect, however busy the machine is: a search that
/// restarts with each line, or a copy of all. The reader usually takes about as long, or less.
const SOME_TIMES: u32 = 10;

/// docs/benchmarks.md has the speed in MB/s. This compares it with the time to look at each word, in the same process.
fn reading_takes_no_more_than_some_times_what_finding_its_words_takes() {
    for (what, head, lines, _) in kinds() {
        let least = |run: &dyn Fn()| -> Duration {
            let timed = (0..3).map(|_| {
                let begin = Instant::now();
                run();
                begin.elapsed()
            });
            timed.min().unwrap()
        };
        let all = || repeated(&head, &lines, BYTES / 8);
        let words = least(&|| {
            let lines = BufReader::new(all()).split(b'\n').map(Result::unwrap);
            let words: usize =
                lines.map(|line| String::from_utf8_lossy(&line).split_whitespace().count()).sum();
            black_box(words);
        });
        let read = least(&|| drop(figures::stream(all(), &Options::default(), &mut |_| {}).unwrap()));
        println!("{what}: {read:?}, its words {words:?}");
        assert!(read < words * SOME_TIMES, "{what}: {read:?}, finding its words {words:?}");
    }
}
