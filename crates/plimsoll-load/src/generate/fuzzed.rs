//! The readers of loads, as fuzz targets call them.

pub use super::dns::fuzzed::dns_reply;
pub use super::http::fuzzed::{http1_answers, http2_answers};
