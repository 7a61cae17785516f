//! Statistics and models: from observations to verdicts. Pure functions.
