//! Statistics and models: from observations to verdicts. Pure functions.
//!
//! Each question has a module, whose documentation names the method and its source. Some of them, on figures whose answer is known:
//!
//! **Is B slower than A?** Times that were measured in pairs, one after the other, are compared pair by pair. Less is better unless the settings
//! say otherwise.
//!
//! ```
//! use plimsoll_judge::compare::{CompareSettings, paired};
//! use plimsoll_model::verdict::Outcome;
//!
//! let a = [101.0, 99.0, 100.0, 102.0, 98.0, 100.5, 99.5, 101.5, 98.5, 100.0];
//! let b = a.map(|ms| ms * 1.1);
//! let found = paired("milliseconds", &a, &b, &CompareSettings::default())?;
//! assert_eq!(found.verdict.outcome, Outcome::Slower);
//! assert!((found.verdict.estimate.unwrap() - 1.1).abs() < 1e-9);
//! # Ok::<(), plimsoll_judge::input::JudgeError>(())
//! ```
//!
//! **Did it recover?** After four floods a firewall carries 48 connections per second instead of 219, while its control does what it did before.
//!
//! ```
//! use plimsoll_judge::recovery::{BeforeAfter, RecoverySettings, judge_flat};
//! use plimsoll_model::verdict::Outcome;
//!
//! let around = |level: f64| (0..20).map(|n| level + f64::from(n % 5) - 2.0).collect();
//! let firewall = BeforeAfter { baseline: around(219.0), after: around(48.0) };
//! let control = BeforeAfter { baseline: around(219.0), after: around(219.0) };
//! let found = judge_flat("connections_per_second", &firewall, Some(&control), &RecoverySettings::default())?;
//! assert_eq!(found.verdict.outcome, Outcome::NotRecovered);
//! # Ok::<(), plimsoll_judge::input::JudgeError>(())
//! ```
//!
//! **Is that one figure, or two?** Eleven measurements of a disk do not show it. A hundred may.
//!
//! ```
//! use plimsoll_judge::modes::find_modes;
//!
//! let eleven: Vec<f64> = (0..11).map(|n| 100.0 + f64::from(n)).collect();
//! assert!(find_modes(&eleven)?.modes.is_empty(), "too few");
//! // Every third at 59 MB/s, the others at 108, each within 2.
//! let hundred: Vec<f64> = (0..100)
//!     .map(|n| if n % 3 == 0 { 59.0 } else { 108.0 } + f64::from(n * 7 % 11 - 5) * 0.4)
//!     .collect();
//! assert_eq!(find_modes(&hundred)?.modes.len(), 2);
//! # Ok::<(), plimsoll_judge::input::JudgeError>(())
//! ```
//!
//! **Where did the history change?** From the sixtieth value on it is 5 % higher.
//!
//! ```
//! use plimsoll_judge::changes::find_changes;
//!
//! let series: Vec<f64> = (0..120)
//!     .map(|n| if n < 60 { 100.0 } else { 105.0 } + f64::from(n * 37 % 17 - 8) * 0.1)
//!     .collect();
//! let found = find_changes(&series)?;
//! assert_eq!(found.changes.len(), 1);
//! assert_eq!(found.changes[0].index, 60);
//! # Ok::<(), plimsoll_judge::input::JudgeError>(())
//! ```
//!
//! **How much loss may a path have?** For 90 Mbit/s over 3 ms with segments of 1448 bytes, one loss in 1108 packets, and a queue of 33,750 bytes
//! (Mathis et al. 1997, with C = 0.7).
//!
//! ```
//! use plimsoll_judge::models::loss::budget;
//!
//! let path = budget(90e6, 0.003, 1448.0, 0.7)?;
//! assert_eq!(path.packets_per_loss, 1108.0);
//! assert_eq!(path.queue_bytes, 33_750.0);
//! # Ok::<(), plimsoll_judge::input::JudgeError>(())
//! ```
//!
//! **What share of a loss comes back when its cause is taken away?** All of it, here.
//!
//! ```
//! use plimsoll_judge::{Scale, share};
//!
//! let good = [219.0, 221.0, 218.0, 220.0, 222.0, 219.5];
//! let bad = [48.0, 50.0, 49.0, 47.0, 48.5, 49.5];
//! let found = share::of_blocks(&good, &bad, &good, Scale::Ratio, 0.95)?;
//! assert!((found.estimate - 1.0).abs() < 1e-9);
//! # Ok::<(), plimsoll_judge::input::JudgeError>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

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
pub mod weeks;
mod wording;

pub use scale::Scale;
