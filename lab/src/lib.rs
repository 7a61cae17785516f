//! What the programs of the lab share.

pub mod pairs;
pub mod rounds;
pub mod row;
pub mod series;
