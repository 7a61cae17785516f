//! Errors in the numbers of a judge's input, and the checks that find them.

use thiserror::Error;

/// Why an input cannot be judged. Each names the series, the place and the value, and says what was expected.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum JudgeError {
    /// A series has no values at all.
    #[error("`{what}` is empty: expected {expected}")]
    Empty {
        /// The name of the series.
        what: String,
        /// The expected value.
        expected: &'static str,
    },
    /// A series is too short for the method.
    #[error("`{what}` has {got} of the {needed} values that it needs")]
    TooFew {
        /// The name of the series.
        what: String,
        /// How many there are.
        got: usize,
        /// How many there must be.
        needed: usize,
    },
    /// A value is NaN or infinite.
    #[error("`{what}`[{index}] is {value}: expected a finite number")]
    NotFinite {
        /// The name of the series.
        what: String,
        /// Its place, counted from 0.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// A value is zero or negative where a ratio or a logarithm is taken.
    #[error("`{what}`[{index}] is {value}: expected a number above 0, because ratios are judged")]
    NotPositive {
        /// The name of the series.
        what: String,
        /// Its place, counted from 0.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// A value is negative where a rate, a count or a time is expected.
    #[error("`{what}`[{index}] is {value}: expected 0 or more")]
    Negative {
        /// The name of the series.
        what: String,
        /// Its place, counted from 0.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// Two series that belong together differ in length.
    #[error("`{left}` has {left_len} values and `{right}` has {right_len}: expected the same number")]
    MixedLengths {
        /// The name of the first series.
        left: String,
        /// Its length.
        left_len: usize,
        /// The name of the second series.
        right: String,
        /// Its length.
        right_len: usize,
    },
    /// A setting lies outside of its range.
    #[error("`{name}` is {value}: expected {expected}")]
    Setting {
        /// The name of the setting.
        name: &'static str,
        /// The value found.
        value: f64,
        /// The range.
        expected: &'static str,
    },
    /// A table lacks what a test asks for: a column, a level, a complete block.
    #[error("{0}")]
    Table(String),
    /// The text is neither the JSON, nor the CSV, nor the list of numbers that the test takes.
    #[error("cannot read the input: {0}")]
    Syntax(String),
}

/// Checks that `values` is not empty and that every value is finite.
///
/// # Errors
/// [`JudgeError::Empty`] or [`JudgeError::NotFinite`] with the first bad place.
pub fn finite(what: &str, values: &[f64]) -> Result<(), JudgeError> {
    if values.is_empty() {
        return Err(JudgeError::Empty { what: what.into(), expected: "at least one number" });
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(JudgeError::NotFinite { what: what.into(), index, value: values[index] }),
        None => Ok(()),
    }
}

/// Checks that `values` is not empty and that every value is finite and above 0.
///
/// # Errors
/// As [`finite`], or [`JudgeError::NotPositive`] with the first bad place.
pub fn positive(what: &str, values: &[f64]) -> Result<(), JudgeError> {
    finite(what, values)?;
    match values.iter().position(|&v| v <= 0.0) {
        Some(index) => Err(JudgeError::NotPositive { what: what.into(), index, value: values[index] }),
        None => Ok(()),
    }
}

/// Checks that two series that are read side by side have the same length.
///
/// # Errors
/// [`JudgeError::MixedLengths`].
pub fn same_length(left: (&str, &[f64]), right: (&str, &[f64])) -> Result<(), JudgeError> {
    if left.1.len() == right.1.len() {
        return Ok(());
    }
    Err(JudgeError::MixedLengths {
        left: left.0.into(),
        left_len: left.1.len(),
        right: right.0.into(),
        right_len: right.1.len(),
    })
}

/// Checks that a setting lies strictly between two bounds; `expected` is the range in words.
///
/// # Errors
/// [`JudgeError::Setting`], also for NaN.
pub fn between(
    name: &'static str,
    value: f64,
    above: f64,
    below: f64,
    expected: &'static str,
) -> Result<(), JudgeError> {
    if value > above && value < below { Ok(()) } else { Err(JudgeError::Setting { name, value, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_series_the_place_and_the_value() {
        let error = positive("a", &[1.0, -2.0]).unwrap_err();
        assert_eq!(error.to_string(), "`a`[1] is -2: expected a number above 0, because ratios are judged");
        let error = finite("series", &[1.0, 2.0, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "`series`[2] is NaN: expected a finite number");
    }

    #[test]
    fn a_setting_that_is_not_a_number_is_out_of_range() {
        assert!(between("margin", f64::NAN, 0.0, 1.0, "a share between 0 and 1").is_err());
    }
}
