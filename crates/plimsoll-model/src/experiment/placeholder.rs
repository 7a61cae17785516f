//! Placeholders in the words of a command: `{port}`.

use super::problem::{Checked, Part, Problem, nearest, problem};

/// Refuses a placeholder that stands for nothing. A word that a shell or another language may read has braces of its own, and is left alone.
pub(super) fn check(words: &[String], known: &[&str], at: impl Into<Vec<Part>>) -> Checked {
    let Some(unknown) = words.iter().flat_map(|word| placeholders(word)).find(|it| !known.contains(it))
    else {
        return Ok(());
    };
    let braced = |name: &str| format!("`{{{name}}}`");
    let expected = known.iter().map(|name| braced(name)).collect::<Vec<_>>().join(", ");
    let found =
        problem(at, format!("nothing says what `{{{unknown}}}` stands for"), format!("one of {expected}"));
    Err(Problem {
        nearest: nearest(unknown, known.iter().copied()).map(|name| format!("{{{name}}}")),
        ..found
    })
}

/// The names in single braces of a word that is no text of another language.
fn placeholders(word: &str) -> Vec<&str> {
    let of_others = |c: char| c.is_whitespace() || "$;()'\"`\\,".contains(c);
    if word.contains(of_others) {
        return Vec::new();
    }
    let names = word.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0));
    let is_name = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || "._".contains(c))
    };
    names.filter(is_name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_braces_is_a_placeholder_and_code_is_not() {
        assert_eq!(placeholders("--bind={address}:{prot}"), ["address", "prot"]);
        for code in ["{print $1}", "${HOME}", "{\"a\": 1}", "{1..3}", "{a,b}", "f'{x}'", "{}", "{{port}}"] {
            let found = placeholders(code);
            assert!(found.is_empty() || code == "{{port}}", "{code}: {found:?}");
        }
    }

    #[test]
    fn a_mistyped_placeholder_is_named_with_the_nearest() {
        let words = ["sh".to_owned(), "--port={prot}".to_owned()];
        let found = check(&words, &["port", "address"], []).expect_err("it is unknown");
        assert_eq!(found.nearest.as_deref(), Some("{port}"));
        assert!(check(&["{port}".to_owned()], &["port"], []).is_ok());
    }
}
