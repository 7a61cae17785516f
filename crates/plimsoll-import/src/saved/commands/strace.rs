//! `strace -c`: calls and errors by system call.

use super::{Format, Out, Section, command_words, count, decimal};

pub(super) const FORMAT: Format = Format {
    program: "strace -c",
    is_command: |command| {
        let (first, rest) = command_words(command);
        first == "strace" && rest.iter().any(|word| word.starts_with("-c") || *word == "-C")
    },
    starts: |lines| lines[0].trim_start().starts_with("% time") && lines[0].contains("syscall"),
    read,
};

/// `% time     seconds  usecs/call     calls    errors syscall`: the cell of errors is empty where there are none.
fn read(section: &Section<'_>, out: &mut Out) {
    let mut calls_of: Vec<(&str, f64)> = Vec::new();
    section.each(out, |line, reading| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if words[0] == "%" || words[0].starts_with("---") || words.last() == Some(&"total") {
            return Some(());
        }
        let [share, seconds, mean, calls, rest @ ..] = words.as_slice() else { return None };
        let (call, errors) = match rest {
            [call] => (*call, 0.0),
            [errors, call] => (*call, count(errors)?),
            _ => return None,
        };
        decimal(seconds)?;
        let (share, mean, calls) = (decimal(share)?, decimal(mean)?, count(calls)?);
        reading.level(format!("syscall.{call}.mean_us"), mean);
        reading.level(format!("syscall.{call}.time_share"), share);
        if calls > 0.0 {
            reading.level(format!("syscall.{call}.failed_share"), 100.0 * errors / calls);
            calls_of.push((call, calls));
        }
        Some(())
    });
    let all: f64 = calls_of.iter().map(|(_, calls)| calls).sum();
    for (call, calls) in calls_of {
        out.reading.level(format!("syscall.{call}.call_share"), 100.0 * calls / all);
    }
}
