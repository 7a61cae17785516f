//! Statistics and models: from observations to verdicts. Pure functions.
#![forbid(unsafe_code)]

pub mod input;
pub mod stats;
