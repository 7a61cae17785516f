//! `/proc/buddyinfo`: free blocks by order. Memory that is free but in pieces makes the kernel compact.

use super::{Format, Out, Section, count, is_file};

pub(super) const FORMAT: Format = Format {
    program: "/proc/buddyinfo",
    is_command: |command| is_file(command, "proc/buddyinfo"),
    starts: |lines| lines[0].starts_with("Node ") && lines[0].contains(", zone "),
    read,
};

/// The order of a huge page of 2 MiB on x86: 512 pages.
const HUGE: usize = 9;

fn read(section: &Section<'_>, out: &mut Out) {
    let (mut all, mut huge) = (0.0, 0.0);
    section.each(out, |line, _| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let blocks: Option<Vec<f64>> = words.iter().skip(4).map(|word| count(word)).collect();
        let blocks = blocks.filter(|blocks| !blocks.is_empty() && words[0] == "Node")?;
        for (order, blocks) in blocks.iter().enumerate() {
            let pages = blocks * (1_u64 << order.min(63)) as f64;
            all += pages;
            huge += if order >= HUGE { pages } else { 0.0 };
        }
        Some(())
    });
    if all > 0.0 {
        out.reading.level("memory.free_in_pieces_share", 100.0 * (1.0 - huge / all));
    }
}
