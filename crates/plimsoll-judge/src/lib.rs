//! Statistics and models: from observations to verdicts. Pure functions.
#![forbid(unsafe_code)]

pub mod changes;
pub mod compare;
pub mod factors;
pub mod input;
pub mod json;
pub mod modes;
pub mod recovery;
pub mod sequential;
pub mod stats;
mod wording;
