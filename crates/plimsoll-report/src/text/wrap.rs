//! Where a line of running text may end.

use textwrap::{Options, WordSeparator, WordSplitter};

/// Stands for a space at which no line ends.
const NO_BREAK: char = '\u{a0}';

/// The lines of a paragraph of at most `width` columns, every one after the first set in by `indent`. A line ends at a space, never
/// between a number and its unit or sign (`10 %`, `n = 1`), and never inside a word: a path or a command that is longer than a line
/// stays whole, so that it can be copied.
pub(super) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let indent = " ".repeat(indent);
    let options = Options::new(width)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    let joined = joined(text);
    textwrap::wrap(&joined, options).iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

/// The text with [`NO_BREAK`] for every space that stands between what belongs together.
fn joined(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut joined = String::with_capacity(text.len());
    for (i, word) in words.iter().enumerate() {
        joined.push_str(word);
        let Some(next) = words.get(i + 1) else { break };
        let sign = |word: &str| matches!(word, "=" | "<" | ">" | "×" | "±" | "≥" | "≤");
        let together = ends_in_a_digit(word) && (is_unit(next) || sign(next)) || sign(word);
        joined.push(if together { NO_BREAK } else { ' ' });
    }
    joined
}

fn ends_in_a_digit(word: &str) -> bool {
    word.ends_with(|c: char| c.is_ascii_digit()) || matches!(word, "–" | "n")
}

/// Whether a word is a unit, whatever sign of punctuation follows it.
fn is_unit(word: &str) -> bool {
    let bare = word.trim_end_matches(['.', ',', ';', ':', ')', ']']);
    let bare = bare.strip_suffix("/s").filter(|rest| !rest.is_empty()).unwrap_or(bare);
    matches!(
        bare,
        "%" | "ns"
            | "µs"
            | "ms"
            | "s"
            | "min"
            | "h"
            | "B"
            | "kB"
            | "KB"
            | "MB"
            | "GB"
            | "KiB"
            | "MiB"
            | "GiB"
            | "TiB"
            | "bit"
            | "kbit"
            | "Mbit"
            | "Gbit"
            | "MHz"
            | "GHz"
            | "×"
            | "CPUs"
            | "CPU"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_stands_on_another_line_than_its_unit() {
        let text =
            "lost at most 10 % in 2.2 s, 95 % interval 0.92 to 1.11, n = 1; at 10 MB/s and 3 min 20 s (5 %).";
        for width in 12..120 {
            for line in wrapped(text, width, 2) {
                let words: Vec<&str> = line.split_whitespace().collect();
                assert!(!is_unit(words[0]) && words[0] != "=" && words[0] != "1;", "{width}: {line:?}");
            }
            assert_eq!(wrapped(text, width, 0).join(" "), text, "nothing but line ends is changed");
        }
    }

    #[test]
    fn a_path_and_a_date_stay_whole() {
        let text = "see /sys/fs/cgroup/memory/container-1/cbbf-76db of 2026-11-22";
        let lines = wrapped(text, 20, 0);
        assert_eq!(lines, ["see", "/sys/fs/cgroup/memory/container-1/cbbf-76db", "of 2026-11-22"]);
    }
}
