//! The readers of services, as fuzz targets call them.

pub use super::smtp::fuzzed::smtp_commands;
