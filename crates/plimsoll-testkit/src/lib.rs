//! Fakes and fixtures, for tests alone.
