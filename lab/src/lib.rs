//! Common parts of the lab's programs.

pub mod load;
pub mod pairs;
pub mod rounds;
pub mod row;
pub mod series;
