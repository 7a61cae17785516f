//! Sentences for users: too long ones, and those with words of the house instead of plain ones (docs/style.md).

use std::collections::BTreeSet;

/// Words of the longest sentence that reads at once.
const LONGEST: usize = 35;
/// Words of the median sentence of a text.
const MEDIAN: usize = 16;
/// Shorter texts are cells, names and captions, and no sentences: the median does not count them.
const SHORTEST: usize = 4;
/// The median of fewer sentences says nothing.
const FEWEST: usize = 10;
/// Phrases that plain English has a shorter or a clearer word for.
const AVOIDED: [&str; 11] = [
    "anew",
    "are to be",
    "but for",
    "is to be",
    "so long",
    "so many",
    "so often",
    "told",
    "was to be",
    "were to be",
    "whoever",
];

/// A sentence with the number of the line that it begins in, counted from 1.
#[derive(Debug, PartialEq)]
pub(crate) struct Sentence {
    line: usize,
    text: String,
}

impl Sentence {
    fn words(&self) -> usize {
        self.text.split_whitespace().count()
    }
}

/// Median and maximum of the words in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) median: usize,
    pub(crate) longest: usize,
}

/// Lengths of a text's sentences; zero where it has too few for a median.
pub(crate) fn lengths(sentences: &[Sentence]) -> Lengths {
    let mut words: Vec<usize> = sentences.iter().map(Sentence::words).filter(|&n| n >= SHORTEST).collect();
    words.sort_unstable();
    let median = if words.len() < FEWEST { 0 } else { words.get(words.len() / 2).copied().unwrap_or(0) };
    Lengths { median, longest: words.last().copied().unwrap_or(0) }
}

/// Why a text is hard to read as a whole.
pub(crate) fn objection(lengths: Lengths) -> Option<String> {
    let Lengths { median, .. } = lengths;
    (median > MEDIAN).then(|| format!("the median sentence has {median} words, and {MEDIAN} is the limit"))
}

/// Line and text of each sentence that is too long or has an avoided phrase.
pub(crate) fn findings(sentences: Vec<Sentence>) -> Vec<(usize, String)> {
    let wrong = sentences.into_iter().filter(|sentence| is_long(sentence) || is_avoided(&sentence.text));
    wrong.map(|Sentence { line, text }| (line, text)).collect()
}

fn is_long(sentence: &Sentence) -> bool {
    sentence.words() > LONGEST
}

/// Whether a text has an avoided phrase.
pub(crate) fn is_avoided(sentence: &str) -> bool {
    let words: Vec<String> = sentence
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .collect();
    let text = format!(" {} ", words.join(" "));
    AVOIDED.iter().any(|phrase| text.contains(&format!(" {phrase} ")))
}

/// Sentences of the prose: without fences, indented code, headings and pictures. A list item and a table's cell end a sentence.
pub(crate) fn sentences(page: &str) -> Vec<Sentence> {
    let mut text = Reader::default();
    let mut fenced = false;
    for (index, whole) in page.lines().enumerate() {
        let line = whole.trim();
        let fence = line.starts_with("```");
        fenced ^= fence;
        let is_code = fenced || fence || whole.starts_with("    ");
        let is_row = line.starts_with('|');
        if is_code || line.is_empty() || line.starts_with(['#', '!']) || is_item(line) || is_row {
            text.close();
        }
        if is_code || line.starts_with(['#', '!']) {
            continue;
        }
        let cells = if is_row { line.split('|').collect() } else { vec![line] };
        for cell in cells {
            text.read(index + 1, cell);
            if is_row {
                text.close();
            }
        }
    }
    text.close();
    text.found
}

/// Sentences of help texts in the fences of a page. An option and a row of a list (`name   text`) end a sentence. Texts that several commands share
/// count once.
pub(crate) fn sentences_of_help(page: &str) -> Vec<Sentence> {
    let mut text = Reader::default();
    let mut fenced = false;
    for (index, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            fenced ^= true;
            text.close();
            continue;
        }
        let line = line.trim();
        let columns: Vec<&str> = line.split("  ").filter(|column| !column.is_empty()).collect();
        let is_option = line.starts_with('-') && columns.len() == 1;
        if !fenced || is_option || line.is_empty() || line.starts_with("Usage: ") {
            text.close();
            continue;
        }
        if columns.len() > 1 {
            text.close();
        }
        text.read(index + 1, columns.last().copied().unwrap_or_default());
    }
    text.close();
    let mut seen = BTreeSet::new();
    text.found.retain(|sentence| seen.insert(sentence.text.clone()));
    text.found
}

/// Sentences of the descriptions in a JSON Schema.
pub(crate) fn sentences_of_schema(schema: &str) -> Vec<Sentence> {
    let mut text = Reader::default();
    for (index, line) in schema.lines().enumerate() {
        let Some(description) = line.trim().strip_prefix("\"description\": \"") else { continue };
        for paragraph in description.trim_end_matches([',', '"']).split("\\n\\n") {
            text.read(index + 1, &paragraph.replace("\\n", " ").replace("\\\"", "\""));
            text.close();
        }
    }
    text.found
}

/// Pending words, and the complete sentences.
#[derive(Default)]
struct Reader {
    found: Vec<Sentence>,
    open: String,
    line: usize,
}

impl Reader {
    fn read(&mut self, line: usize, text: &str) {
        for word in without_code(text).split_whitespace() {
            if self.open.is_empty() {
                self.line = line;
            }
            self.open.push_str(word);
            self.open.push(' ');
            if word.trim_end_matches([')', '*', '"']).ends_with(['.', '!', '?']) {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let text = std::mem::take(&mut self.open).trim().to_owned();
        if !text.is_empty() {
            self.found.push(Sentence { line: self.line, text });
        }
    }
}

fn is_item(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.starts_with("- ") || text.starts_with("* ") || (rest.len() < text.len() && rest.starts_with(". "))
}

/// Text with each code span as one word.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(n, part)| if n % 2 == 1 { "CODE" } else { part }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sentences: Vec<Sentence>) -> Vec<String> {
        sentences.into_iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn a_sentence_goes_on_over_lines_and_ends_at_an_item_a_cell_and_a_stop() {
        let page = "# Heading\n\nOne goes\non. Two `a. b` here.\n- item\n- other\n\n| a b | c |\n\n```sh\ncode. code\n```\n";
        assert_eq!(
            texts(sentences(page)),
            ["One goes on.", "Two CODE here.", "- item", "- other", "a b", "c"]
        );
        assert_eq!(sentences(page)[0].line, 3);
    }

    #[test]
    fn colons_and_semicolons_do_not_end_a_sentence() {
        assert_eq!(sentences("One: two; three.").len(), 1);
    }

    #[test]
    fn long_sentences_and_house_words_are_found() {
        let long = "word ".repeat(LONGEST + 1);
        assert_eq!(findings(sentences(&long)).len(), 1);
        assert!(findings(sentences(&"word ".repeat(LONGEST))).is_empty());
        assert_eq!(
            findings(sentences("It is built anew. All is well.\n")),
            [(1, "It is built anew.".to_owned())]
        );
        assert!(findings(sentences("We renewed it; `anew` is code.")).is_empty());
    }

    #[test]
    fn the_median_is_that_of_sentences_and_not_of_cells() {
        let page = format!("{}\n\n| a | b | c | d |\n", "One two three four five. ".repeat(FEWEST));
        assert_eq!(lengths(&sentences(&page)), Lengths { median: 5, longest: 5 });
        assert_eq!(objection(Lengths { median: MEDIAN, longest: LONGEST }), None);
        assert!(objection(Lengths { median: MEDIAN + 1, longest: LONGEST }).is_some());
        assert_eq!(lengths(&sentences("A short page has no median.")).median, 0);
    }

    #[test]
    fn help_is_read_between_its_options_and_once() {
        let page = "# Page\n\nNot help.\n\n```text\nUsage: x [OPTIONS]\n\n  run   Run it\n  list  List\n\n  -q, --quiet\n          Say less.\n          And nothing\n          else\n```\n\n```text\nSay less.\n```\n";
        assert_eq!(texts(sentences_of_help(page)), ["Run it", "List", "Say less.", "And nothing else"]);
    }

    #[test]
    fn descriptions_of_a_schema_are_read() {
        let schema =
            "{\n  \"title\": \"A b.\",\n  \"description\": \"One\\ntwo. `a\\nb`\\n\\nThree \\\"x\\\".\",\n}";
        assert_eq!(texts(sentences_of_schema(schema)), ["One two.", "CODE", "Three \"x\"."]);
    }
}
