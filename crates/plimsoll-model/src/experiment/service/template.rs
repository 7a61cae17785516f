//! Configuration files as templates: `{{name}}` stands for something that is known only when a service is started.
//!
//! Single braces are left alone: most formats have a use of their own for them.

/// A name that stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: `{{{{{name}}}}}` stands for nothing here")]
pub struct NoMeaning {
    /// The name.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
}

/// The text with every `{{name}}` replaced by its value; blanks inside the braces do not count.
///
/// # Errors
/// When a name stands for nothing.
pub fn fill(text: &str, meaning: impl Fn(&str) -> Option<String>) -> Result<String, NoMeaning> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let Some(length) = rest[start + 2..].find("}}") else { break };
        let name = rest[start + 2..start + 2 + length].trim();
        filled += &rest[..start];
        let line = || text[..text.len() - rest.len() + start].matches('\n').count() + 1;
        filled += &meaning(name).ok_or_else(|| NoMeaning { name: name.to_owned(), line: line() })?;
        rest = &rest[start + 2 + length + 2..];
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_replaced_and_what_has_braces_of_its_own_is_left_alone() {
        let meaning = |name: &str| (name == "port").then(|| "8080".to_owned());
        let text = "server { listen {{port}}; }\n# {{ port }} { port } ${x}\n";
        assert_eq!(fill(text, meaning).unwrap(), "server { listen 8080; }\n# 8080 { port } ${x}\n");
        let wrong = fill("a\nb {{prot}}\n", meaning).unwrap_err();
        assert_eq!(wrong.to_string(), "line 2: `{{prot}}` stands for nothing here");
        assert_eq!(fill("an open {{ end", meaning).unwrap(), "an open {{ end");
    }

    proptest! {
        #[test]
        fn any_text_without_double_braces_stays_as_it_is(text in "[^{}]{0,80}|([a-z]\\{[a-z ]\\}){0,9}") {
            prop_assert_eq!(fill(&text, |_| None).unwrap(), text);
        }
    }
}
