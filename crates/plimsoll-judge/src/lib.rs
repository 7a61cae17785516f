//! Statistics and models: from observations to verdicts. Pure functions.
#![forbid(unsafe_code)]

pub mod compare;
pub mod input;
pub mod stats;
mod wording;
