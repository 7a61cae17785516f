//! A run for other programs: what was measured, as rows.
//!
//! Each row has one value, with what tells it apart from the others. [`csv`], [`jsonl`], [`openmetrics`] and [`parquet`] write the same rows; [`hdr`] writes
//! latencies as HdrHistogram does.

mod csv;
mod hdr;
mod jsonl;
mod openmetrics;
mod parquet;
mod rows;
mod table;

pub use csv::csv;
pub use hdr::hdr;
pub use jsonl::jsonl;
pub use openmetrics::openmetrics;
pub use parquet::parquet;
pub use rows::{Row, Rows, Selection, rows};
