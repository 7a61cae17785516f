//! Sentences of a Markdown page that are too long, or that use words of the house instead of plain ones (docs/style.md).

/// Words of the longest sentence that reads at once.
const LONGEST: usize = 35;
/// Phrases that plain English has a shorter or a clearer word for.
const AVOIDED: [&str; 6] = ["anew", "but for", "is to be", "so many", "told", "whoever"];

/// A sentence with the number of the line that it begins in, counted from 1.
#[derive(Debug, PartialEq)]
struct Sentence {
    line: usize,
    text: String,
}

/// Line and text of each sentence that is too long or has an avoided phrase.
pub(crate) fn findings(page: &str) -> Vec<(usize, String)> {
    let wrong = sentences(page).into_iter().filter(|sentence| is_hard(&sentence.text));
    wrong.map(|Sentence { line, text }| (line, text)).collect()
}

fn is_hard(sentence: &str) -> bool {
    if sentence.split_whitespace().count() > LONGEST {
        return true;
    }
    let words: Vec<String> = sentence
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .collect();
    let text = format!(" {} ", words.join(" "));
    AVOIDED.iter().any(|phrase| text.contains(&format!(" {phrase} ")))
}

/// Sentences of the prose: without fences, indented code, headings and pictures. A list item and a table's cell end a sentence.
fn sentences(page: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut open = Sentence { line: 0, text: String::new() };
    let mut fenced = false;
    for (index, line) in page.lines().enumerate() {
        let text = line.trim();
        let fence = text.starts_with("```");
        fenced ^= fence;
        let is_code = fenced || fence || line.starts_with("    ");
        if is_code
            || text.is_empty()
            || text.starts_with(['#', '!'])
            || is_item(text)
            || text.starts_with('|')
        {
            close(&mut open, &mut found);
        }
        if is_code || text.starts_with(['#', '!']) {
            continue;
        }
        let cells = if text.starts_with('|') { text.split('|').collect() } else { vec![text] };
        for cell in cells {
            for word in without_code(cell).split_whitespace() {
                if open.text.is_empty() {
                    open.line = index + 1;
                }
                open.text.push_str(word);
                open.text.push(' ');
                if ends_sentence(word) {
                    close(&mut open, &mut found);
                }
            }
            if text.starts_with('|') {
                close(&mut open, &mut found);
            }
        }
    }
    close(&mut open, &mut found);
    found
}

fn close(open: &mut Sentence, found: &mut Vec<Sentence>) {
    let text = std::mem::take(&mut open.text).trim().to_owned();
    if !text.is_empty() {
        found.push(Sentence { line: open.line, text });
    }
}

fn is_item(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.starts_with("- ") || text.starts_with("* ") || (rest.len() < text.len() && rest.starts_with(". "))
}

fn ends_sentence(word: &str) -> bool {
    word.trim_end_matches([')', '*', '"']).ends_with(['.', '!', '?', ':', ';'])
}

/// Text with each code span as one word.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(n, part)| if n % 2 == 1 { "CODE" } else { part }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(page: &str) -> Vec<String> {
        sentences(page).into_iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn a_sentence_goes_on_over_lines_and_ends_at_an_item_a_cell_and_a_stop() {
        let page = "# Heading\n\nOne goes\non. Two `a. b` here.\n- item\n- other\n\n| a b | c |\n\n```sh\ncode. code\n```\n";
        assert_eq!(texts(page), ["One goes on.", "Two CODE here.", "- item", "- other", "a b", "c"]);
        assert_eq!(sentences(page)[0].line, 3);
    }

    #[test]
    fn long_sentences_and_house_words_are_found() {
        let long = "word ".repeat(LONGEST + 1);
        assert_eq!(findings(&long).len(), 1);
        assert!(findings(&"word ".repeat(LONGEST)).is_empty());
        assert_eq!(findings("It is built anew. All is well.\n"), [(1, "It is built anew.".to_owned())]);
        assert!(findings("We renewed it; `anew` is code.").is_empty());
    }
}
