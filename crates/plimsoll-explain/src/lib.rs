//! Stalls, profiles and causes: from observations and verdicts to explanations. Pure functions.
