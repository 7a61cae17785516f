//! The kernel's caches: `/proc/slabinfo` and `slabtop -o`.

use super::{Format, Out, Section, command_words, count, decimal, is_file};

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
    let is_row = |line: &str| !line.starts_with('#') && !line.starts_with("slabinfo");
    for (index, line) in section.numbered().filter(|(_, line)| is_row(line)) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| count(word));
        match number(1).zip(number(2)).zip(number(3)) {
            Some(((active, objects), size)) => cache(words[0], active, objects * size, out),
            None => out.unread.note(index, line),
        }
    }
}

fn cache(name: &str, active: f64, bytes: f64, out: &mut Out) {
    out.reading.level(format!("machine.slab.{name}.active"), active);
    out.reading.level(format!("machine.slab.{name}.bytes"), bytes);
}

/// `OBJS ACTIVE USE OBJ SIZE SLABS OBJ/SLAB CACHE SIZE NAME`, where two titles have a blank.
fn slabtop(section: &Section<'_>, out: &mut Out) {
    let mut in_rows = false;
    for (index, line) in section.numbered() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words[0] == "OBJS" {
            in_rows = true;
            continue;
        }
        if !in_rows {
            continue;
        }
        let [_, active, _, _, _, _, size, name] = words.as_slice() else {
            out.unread.note(index, line);
            continue;
        };
        let kib = size.strip_suffix('K').and_then(decimal);
        match count(active).zip(kib) {
            Some((active, kib)) => cache(name, active, kib * 1024.0, out),
            None => out.unread.note(index, line),
        }
    }
}
