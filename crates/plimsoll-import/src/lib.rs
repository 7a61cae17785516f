//! Other tools' output and packet files, read into observations.
