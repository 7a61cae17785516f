//! The vocabulary of Plimsoll: units, the experiment file, agent frames, observations, verdicts and causes.
//!
//! Nothing here does input or output. Every other crate may use this one; it uses none of them.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

pub mod cause;
pub mod certificate;
pub mod counters;
pub mod documents;
pub mod effect;
pub mod event;
pub mod experiment;
pub mod frame;
pub mod histogram;
pub mod ids;
pub mod note;
pub mod numbers;
pub mod observation;
pub mod packet;
pub mod phase_kind;
pub mod plan;
pub mod reader;
pub mod recovery;
pub mod report;
pub mod shell;
pub mod trace;
pub mod under_way;
pub mod units;
pub mod user;
pub mod verdict;
pub mod weeks;
