//! Services and load generators, on one pacing loop.
