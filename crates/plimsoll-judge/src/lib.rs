//! Statistics and models: from observations to verdicts. Pure functions.
#![forbid(unsafe_code)]

pub mod bisect;
pub mod changes;
pub mod compare;
pub mod factors;
pub mod input;
pub mod json;
pub mod limit;
pub mod models;
pub mod modes;
pub mod recovery;
mod scale;
pub mod sequential;
pub mod share;
pub mod stats;
pub mod warmup;
mod wording;

pub use scale::Scale;
