//! The kernel's caches: `/proc/slabinfo` and `slabtop -o`.

use super::{Format, Out, Reading, Section, command_words, count, decimal, is_file};

pub(super) const SLABINFO: Format = Format {
    program: "/proc/slabinfo",
    is_command: |command| is_file(command, "proc/slabinfo"),
    starts: |lines| lines[0].starts_with("slabinfo - version"),
    read: slabinfo,
};
pub(super) const SLABTOP: Format = Format {
    program: "slabtop -o",
    is_command: |command| command_words(command).0 == "slabtop",
    starts: |lines| lines[0].trim_start().starts_with("Active / Total Objects"),
    read: slabtop,
};

/// `name <active_objs> <num_objs> <objsize> ...` (mm/slab_common.c).
fn slabinfo(section: &Section<'_>, out: &mut Out) {
    section.each(out, |line, reading| {
        if line.starts_with('#') || line.starts_with("slabinfo") {
            return Some(());
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| count(word));
        cache(words[0], number(1)?, number(2)? * number(3)?, reading);
        Some(())
    });
}

fn cache(name: &str, active: f64, bytes: f64, reading: &mut Reading) {
    reading.level(format!("machine.slab.{name}.active"), active);
    reading.level(format!("machine.slab.{name}.bytes"), bytes);
}

/// `OBJS ACTIVE USE OBJ SIZE SLABS OBJ/SLAB CACHE SIZE NAME`, where two titles have a blank.
fn slabtop(section: &Section<'_>, out: &mut Out) {
    let mut in_rows = false;
    section.each(out, |line, reading| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_heading = words[0] == "OBJS";
        if is_heading || !in_rows {
            in_rows |= is_heading;
            return Some(());
        }
        let [_, active, _, _, _, _, size, name] = words.as_slice() else { return None };
        let kib = size.strip_suffix('K').and_then(decimal)?;
        cache(name, count(active)?, kib * 1024.0, reading);
        Some(())
    });
}
