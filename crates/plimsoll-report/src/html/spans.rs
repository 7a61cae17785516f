//! Named stretches of a horizontal axis.

/// A stretch that is shaded and named.
pub(super) struct Span {
    pub(super) name: String,
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) shade: Shade,
}

/// How a stretch is shaded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shade {
    /// Not at all.
    None,
    /// In contrast to its neighbours.
    Plain,
    /// Under the flood.
    Flood,
}

/// An event at one place of the horizontal axis.
pub(super) struct Moment {
    pub(super) name: String,
    pub(super) at: f64,
}
