//! Charts of a run that belong to no claim: one module for each, on the common layer of [`crate::chart`].
//!
//! [`forest`] and [`bars`] are drawn without a script, as plain elements: they are small, belong to a table, and must print.

pub(super) mod bars;
pub(super) mod counters;
pub(super) mod cpu;
pub(super) mod flow;
pub(super) mod forest;
pub(super) mod heat;
pub(super) mod histogram;
pub(super) mod history;
pub(super) mod latency;
pub(super) mod load;
pub(super) mod numbers;
pub(super) mod places;
pub(super) mod rate;
pub(super) mod sides;
pub(super) mod spans;
pub(super) mod stacks;
pub(super) mod steps;
pub(super) mod weeks;

use crate::chart::{
    CONTROL, Drawing, Figure, LOOKS, Plot, SOFT, TREATMENT, axis, drawn, drawn_s, hovered, layout, legend,
    reach, shortened, whiskers,
};
