//! Addresses of pages. Names come from files that anybody may have written.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that need no escape in a path (RFC 3986, unreserved).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(crate) fn run(id: &str) -> String {
    format!("/runs/{}", utf8_percent_encode(id, PATH))
}

/// A run that goes on.
pub(crate) fn live(id: &str) -> String {
    format!("{}/live", run(id))
}

/// How it goes on, as it comes.
pub(crate) fn events(id: &str) -> String {
    format!("{}/events", run(id))
}

pub(crate) fn experiment(name: &str) -> String {
    format!("/experiments/{}", utf8_percent_encode(name, PATH))
}

pub(crate) fn cause(id: &str) -> String {
    format!("/causes/{}", utf8_percent_encode(id, PATH))
}

/// A path with parameters, without those that are empty.
pub(crate) fn with(path: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> =
        given.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, QUERY))).collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_more_than_names() {
        assert_eq!(run("../a?b#c"), "/runs/../a%3Fb%23c");
        assert_eq!(with("/", &[("q", "a&b=c \""), ("tag", "")]), "/?q=a%26b%3Dc%20%22");
    }
}
