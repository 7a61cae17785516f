//! The output of ordinary commands: several of them may follow one another in a text, each after its prompt or by itself.
//!
//! Each format is one file and one line of the registry. A reader takes numbers from columns and lines by their names alone, and notes every line
//! that it does not know.

mod buddyinfo;
mod conntrack;
mod dmesg;
mod files;
mod groups;
mod interrupts;
mod links;
mod locks;
mod netstat;
mod nstat;
mod pairs;
mod perf_report;
mod protocols;
mod rules;
mod slabs;
mod softnet;
mod ss;
mod stat;
mod strace;
mod sysctl;
mod sysstat;
mod tables;
mod top;

pub use dmesg::kernel_log_signs;

use super::counters::{Counters, Reading, Unread};
use super::{Saved, SavedError};

/// Input of a reader: the lines of one command.
struct Section<'t> {
    /// The command, or the path of the file; empty where the text does not say.
    command: &'t str,
    /// The lines.
    lines: &'t [&'t str],
    /// The index of the first line in the text.
    first: usize,
}

impl<'t> Section<'t> {
    /// The lines with their indexes, without empty ones.
    fn numbered(&self) -> impl Iterator<Item = (usize, &'t str)> {
        let first = self.first;
        let all = self.lines.iter().enumerate().map(move |(at, line)| (first + at, *line));
        all.filter(|(_, line)| !line.trim().is_empty())
    }

    /// Hands each line on to be read. Lines that are not known are noted.
    fn each(&self, out: &mut Out, mut read: impl FnMut(&'t str, &mut Reading) -> Option<()>) {
        for (index, line) in self.numbered() {
            if read(line, &mut out.reading).is_none() {
                out.unread.note(index, line);
            }
        }
    }
}

/// Output of a reader.
#[derive(Default)]
struct Out {
    reading: Reading,
    unread: Unread,
    stacks: Option<Box<super::Stacks>>,
}

/// A format of the registry.
struct Format {
    /// Program that writes it, as the reference lists it.
    program: &'static str,
    /// Whether a command line or a path of a file is of it.
    is_command: fn(&str) -> bool,
    /// Whether it begins at the first of these lines.
    starts: fn(&[&str]) -> bool,
    read: fn(&Section<'_>, &mut Out),
}

/// Every format, in the order in which they are tried.
const ALL: &[&Format] = &[
    &netstat::FORMAT,
    &nstat::FORMAT,
    &ss::SUMMARY,
    &ss::SOCKETS,
    &protocols::SNMP,
    &protocols::NETSTAT,
    &stat::FORMAT,
    &pairs::VMSTAT,
    &pairs::MEMINFO,
    &pairs::SOCKSTAT,
    &pairs::UPTIME,
    &pairs::DATE,
    &pairs::PRESSURE,
    &softnet::FORMAT,
    &slabs::SLABINFO,
    &slabs::SLABTOP,
    &buddyinfo::FORMAT,
    &interrupts::SOFTIRQS,
    &interrupts::INTERRUPTS,
    &tables::DISKSTATS,
    &tables::CONNTRACK,
    &tables::NEIGHBOURS,
    &conntrack::STATISTICS,
    &conntrack::COUNT,
    &perf_report::FORMAT,
    &sysstat::IOSTAT,
    &sysstat::MPSTAT,
    &sysstat::PIDSTAT,
    &top::TOP,
    &top::FREE,
    &rules::NFT,
    &rules::SAVED,
    &rules::LISTED,
    &links::IP,
    &links::ETHTOOL,
    &links::TC,
    &locks::FORMAT,
    &groups::FORMAT,
    &strace::FORMAT,
    &sysctl::FORMAT,
    &dmesg::FORMAT,
    &files::FORMAT,
];

/// Programs that write the formats that are read.
pub(super) fn programs() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|format| format.program)
}

/// The format of a command line or of the path of a file.
fn of_command(command: &str) -> Option<&'static Format> {
    ALL.iter().copied().find(|format| (format.is_command)(command))
}

/// Whether a file of this path has a known format, as the folders of a sosreport name it.
pub(super) fn is_known(path: &str) -> bool {
    let command = command_of(path);
    of_command(&command).is_some() || is_table(&command)
}

/// Whether a text begins with a known command, its prompt or its output.
pub(super) fn begins_known(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().skip_while(|line| line.trim().is_empty()).take(4).collect();
    let Some(first) = lines.first() else { return false };
    prompt(first).is_some() || ALL.iter().any(|format| (format.starts)(&lines))
}

/// The command that wrote a file: sosreports write blanks as `_`.
fn command_of(path: &str) -> String {
    if path.contains("proc/") || path.contains("sys/") && !path.contains("sos_commands/") {
        return path.to_owned();
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".log")).unwrap_or(name);
    name.replace('_', " ")
}

/// A prompt or a heading that names a command.
struct Prompt<'t> {
    host: Option<&'t str>,
    command: &'t str,
}

/// Reads a prompt before a known command: `$ netstat -s`, `root@relay:~# nstat -a`, `==> /proc/net/snmp <==`, `+ ss -s`.
fn prompt(line: &str) -> Option<Prompt<'_>> {
    const MARKS: [char; 9] = ['=', '#', '-', '+', '>', '$', '%', '*', ' '];
    let line = line.trim();
    let mut host = None;
    let mut rest = line;
    if let Some((before, after)) = line.split_once(['$', '#']).filter(|(before, _)| before.contains('@')) {
        let name = before.split('@').nth(1).unwrap_or_default();
        host = name.split([':', ' ', ']']).next().filter(|name| !name.is_empty());
        rest = after;
    }
    let marked = rest.trim_start_matches(MARKS);
    let has_mark = host.is_some() || marked.len() < rest.len();
    let command = marked.trim_end_matches(['=', '<', '>', '-', '*', ':', ' ']);
    let words: Vec<&str> = command.split_ascii_whitespace().collect();
    let is_bare = words.iter().skip(1).all(|word| word.len() > 1 && word.starts_with(['-', '/', '+']));
    let reads_files = matches!(words.first(), Some(&"cat" | &"sudo" | &"head" | &"LC_ALL=C"));
    let skipped = words.iter().take_while(|word| matches!(**word, "cat" | "sudo" | "LC_ALL=C" | "LANG=C"));
    let at = skipped.map(|word| word.len() + 1).sum::<usize>();
    let wanted = command.get(at..).unwrap_or_default().trim_start();
    // A line of output may begin with a mark; only a command that is known makes it a prompt.
    let known = of_command(wanted).is_some() || is_table(wanted);
    ((has_mark || is_bare || reads_files) && known).then_some(Prompt { host, command: wanted })
}

/// Whether a command writes what the readers of tables over time take.
fn is_table(command: &str) -> bool {
    let first = command.split_ascii_whitespace().next().unwrap_or_default();
    matches!(first.rsplit('/').next(), Some("vmstat" | "sar")) || command.starts_with("perf script")
}

/// A part of a text, before it is read.
struct Part<'t> {
    host: Option<&'t str>,
    command: &'t str,
    format: Option<&'static Format>,
    first: usize,
    end: usize,
}

fn parts<'t>(lines: &[&'t str], of_file: &'t str) -> Vec<Part<'t>> {
    let mut parts =
        vec![Part { host: None, command: of_file, format: of_command(of_file), first: 0, end: 0 }];
    let mut host = None;
    for (index, line) in lines.iter().enumerate() {
        let is_first_word = line.starts_with(|first: char| !first.is_whitespace()) || index == 0;
        if let Some(prompt) = prompt(line) {
            host = prompt.host.or(host);
            let (command, format) = (prompt.command, of_command(prompt.command));
            parts.push(Part { host, command, format, first: index + 1, end: index + 1 });
            continue;
        }
        let Some(last) = parts.last_mut() else { continue };
        let is_open = last.format.is_none() && !is_table(last.command);
        if (is_open || is_first_word || line.trim_start().starts_with("CPU0"))
            && let Some(format) = ALL.iter().copied().find(|format| (format.starts)(&lines[index..]))
            && (last.format.is_none_or(|known| known.program != format.program))
            && !is_table(last.command)
        {
            parts.push(Part { host, command: "", format: Some(format), first: index, end: index + 1 });
            continue;
        }
        last.end = index + 1;
    }
    parts.retain(|part| part.end > part.first);
    parts
}

/// Reads a text of one or several commands.
///
/// # Errors
/// Nothing of it is known, or a table does not fit.
pub(super) fn read(text: &str, path: &str) -> Result<Vec<Saved>, SavedError> {
    let of_file = command_of(path);
    let lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches('\r')).collect();
    let mut found: Vec<Saved> = Vec::new();
    let mut unread = Unread::default();
    for part in parts(&lines, &of_file) {
        let section =
            Section { command: part.command, lines: &lines[part.first..part.end], first: part.first };
        if let Some(format) = part.format {
            let mut out = Out::default();
            (format.read)(&section, &mut out);
            found.extend(out.stacks.map(Saved::Stacks));
            if out.reading.is_empty() {
                note_all(&mut unread, &section);
                continue;
            }
            found.push(Saved::Counters(Box::new(Counters {
                program: format.program.to_owned(),
                host: part.host.map(ToOwned::to_owned),
                readings: vec![out.reading],
                windows: Vec::new(),
                unread: out.unread,
            })));
        } else if let Ok(table) = super::read_table(&section.lines.join("\n")) {
            found.push(table);
        } else {
            note_all(&mut unread, &section);
        }
    }
    if found.is_empty() {
        return Err(SavedError::Unknown);
    }
    if unread.lines > 0 {
        let program = "other text".to_owned();
        found.push(Saved::Counters(Box::new(Counters { program, unread, ..Counters::default() })));
    }
    Ok(found)
}

fn note_all(unread: &mut Unread, section: &Section<'_>) {
    section.numbered().for_each(|(index, line)| unread.note(index, line));
}

/// A plain number without a sign: counters have none.
fn count(word: &str) -> Option<f64> {
    let plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| word.parse().ok()).flatten()
}

/// A number with a fraction.
fn decimal(word: &str) -> Option<f64> {
    super::table::number(word)
}

/// The first word of a command, without folders, and the words behind it.
fn command_words(command: &str) -> (&str, Vec<&str>) {
    let mut words = command.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    (first.rsplit('/').next().unwrap_or(first), words.collect())
}

/// Whether a path ends so, below `proc` or `sys`.
fn is_file(command: &str, ending: &str) -> bool {
    command.split_ascii_whitespace().any(|word| {
        word.strip_suffix(ending).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    })
}

fn never(_: &[&str]) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_every_program() {
        let page = include_str!("../../../../../docs/how-to/posted.md");
        let missing: Vec<&str> = programs().filter(|program| !page.contains(program)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn a_file_of_any_name_is_known_by_how_it_begins() {
        assert!(begins_known("\n==> /proc/uptime <==\n57117.71 25615.75\n"));
        assert!(begins_known("$ vmstat 1 5\nprocs ---memory---\n"));
        assert!(begins_known("1: POSIX  ADVISORY  WRITE 77 08:01:131 0 0\n"));
        assert!(!begins_known("#!/bin/sh\nnetstat -s\n") && !begins_known("root:x:0:0::/root:/bin/sh\n"));
        assert!(is_known("sick.d/vmstat_1_5") && !is_known("sick.d/notes.txt"));
    }

    #[test]
    fn statistics_of_each_cpu_are_not_taken_for_packets() {
        let text = "==> /proc/net/softnet_stat <==\n\
            0ef3bcae 0004cde4 00000092 00000000 00000000 00000000 00000000 00000000 00000000 0003219e 00000000 00000000 00000001 00000000 00000000\n\
            ==> /proc/net/stat/nf_conntrack <==\n\
            entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart\n\
            00000000  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003 00000000 00000000  00000000 00000000 00000000 00000000\n";
        let dropped: Vec<f64> = read(text, "counters.txt")
            .unwrap()
            .iter()
            .filter_map(|saved| match saved {
                Saved::Counters(counters) => counters.readings.first(),
                _ => None,
            })
            .flat_map(|reading| &reading.totals)
            .filter(|(name, _)| *name == "machine.softnet.dropped" || *name == "nf_conntrack.drop")
            .map(|(_, value)| *value)
            .collect();
        assert_eq!(dropped, [314_852.0, 3.0]);
    }

    #[test]
    fn a_line_is_a_prompt_only_with_a_known_command() {
        let of = |line| prompt(line).map(|it| (it.host, it.command));
        assert_eq!(of("$ netstat -s"), Some((None, "netstat -s")));
        assert_eq!(of("root@relay:~# ss -s"), Some((Some("relay"), "ss -s")));
        assert_eq!(of("[root@relay ~]# conntrack -C"), Some((Some("relay"), "conntrack -C")));
        assert_eq!(of("==> /proc/net/snmp <=="), Some((None, "/proc/net/snmp")));
        assert_eq!(of("$ sudo cat /proc/slabinfo"), Some((None, "/proc/slabinfo")));
        assert_eq!(of("nstat -az"), Some((None, "nstat -az")));
        for line in [
            "#kernel",
            "top - 12:00:01 up 2 days",
            "# Samples: 12K",
            "-A INPUT -j DROP",
            "ss is slow here",
            "",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
