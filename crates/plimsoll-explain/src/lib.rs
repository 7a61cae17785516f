//! Stalls, profiles and causes: from observations and verdicts to explanations. Pure functions.
//!
//! - [`stalls`]: where a TCP connection stood still, why, and who had to act, from its packets.
#![forbid(unsafe_code)]

pub mod stalls;
