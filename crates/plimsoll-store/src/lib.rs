//! Runs on disk, in one SQLite file.
