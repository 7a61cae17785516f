//! Common parts of the file's tables: how they are read, their units, and the checks of their values.

pub(super) use std::collections::BTreeMap;

pub(super) use schemars::JsonSchema;
pub(super) use serde::{Deserialize, Serialize};
pub(super) use smart_default::SmartDefault;

pub(super) use super::metric::Metric;
pub(super) use super::problem::{
    Checked, Part, declared, in_range, measured, one_of, problem, up_to, within,
};
pub(super) use super::share::share;
pub(super) use crate::effect::{Effect, EffectKind, RunAs};
pub(super) use crate::phase_kind::PhaseKind;
pub(super) use crate::units::{BitRate, ByteSize, Share, Span};
pub(super) use crate::verdict::Expected;
