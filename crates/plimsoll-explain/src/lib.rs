//! Stalls, profiles and causes: from observations and verdicts to explanations. Pure functions.
//!
//! - [`causes`]: named explanations.
//! - [`evidence`]: which figures moved from before to after.
//! - [`pair`]: two captures of one connection: clocks, one-way delays, losses, and where a silence began.
//! - [`profile`]: which functions took more CPU time.
//! - [`seen`]: what processes did more of: wait, fail, ask block devices, use CPUs.
//! - [`stalls`]: where a TCP connection stood still, why, and who had to act, from its packets.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

pub mod causes;
pub mod evidence;
pub mod pair;
pub mod profile;
pub mod renamed;
mod sampled;
pub mod seen;
pub mod stalls;
