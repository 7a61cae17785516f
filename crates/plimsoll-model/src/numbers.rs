//! Numbers from anywhere, as charts show them: the input of a test, and its fitted curves.

use crate::experiment::claim::modes::ModePlace;

/// Chart of numbers that were judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Measurements in order of time, and where they gather.
    Gathered {
        /// The measurements.
        values: Vec<f64>,
        /// The modes by rising centre.
        modes: Vec<ModePlace>,
    },
    /// A series, and the levels that it stayed at.
    Series {
        /// The values in order of time; absent where one is missing.
        values: Vec<Option<f64>>,
        /// The levels, one after the other.
        levels: Vec<Level>,
    },
    /// Values that stand against each other.
    Sides(Vec<Side>),
    /// Points, and curves that describe them.
    Curve(Curve),
    /// Values with the level of each factor.
    Factors {
        /// The names of the factors.
        factors: Vec<String>,
        /// The level of each factor, and the value.
        rows: Vec<(Vec<String>, f64)>,
    },
}

/// A stretch of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Its first value, from 0.
    pub from: usize,
    /// The first value behind it.
    pub to: usize,
    /// How high it is, in the unit of the series.
    pub height: f64,
}

/// One of several sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Its name.
    pub name: String,
    /// Whether it is there for comparison only, as a control is.
    pub beside: bool,
    /// Its values, in the order in which they were given.
    pub values: Vec<f64>,
}

/// Points, and curves that describe them, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Quantity on the horizontal axis, with its unit.
    pub x: String,
    /// Quantity on the vertical axis, with its unit.
    pub y: String,
    /// Whether each of the axes is logarithmic.
    pub logarithmic: [bool; 2],
    /// Legend of the points.
    pub legend: &'static str,
    /// The points.
    pub points: Vec<[f64; 2]>,
    /// The name of each curve, and points on it by rising x.
    pub curves: Vec<(String, Vec<[f64; 2]>)>,
}
