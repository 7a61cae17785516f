//! What is wrong with an experiment, and where.

/// The candidate that is most like `given`, if any is like it at all.
#[must_use]
pub fn nearest<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    let given = given.to_lowercase();
    let likeness = |candidate: &str| strsim::jaro_winkler(&given, &candidate.to_lowercase());
    candidates
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}

/// A part of a path into the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The value of a key.
    Key(String),
    /// An element of a list.
    Index(usize),
}

/// Something in the experiment that makes no sense, and the path to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) path: Vec<Part>,
    pub(super) message: String,
    pub(super) expected: Option<String>,
    pub(super) nearest: Option<String>,
}
