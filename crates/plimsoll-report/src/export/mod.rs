//! A run for other programs: what was measured, as rows.
//!
//! Each row has one value and its keys. [`csv`], [`jsonl`], [`openmetrics`] and [`parquet`] write the same rows; [`hdr`] writes
//! latencies as HdrHistogram does. What stands in another [`Table`], such as imported figures, is written by the same writers.

mod csv;
mod hdr;
mod jsonl;
mod openmetrics;
mod parquet;
mod rows;
mod table;

pub use csv::csv;
pub use hdr::hdr;
pub use jsonl::{jsonl, jsonl_of};
pub use openmetrics::{openmetrics, openmetrics_of};
pub use parquet::parquet;
pub use rows::{Exported, Row, Rows, Selection, rows};
pub use table::{Cell, RunTable, Table};
