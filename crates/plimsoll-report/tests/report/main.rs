//! Output of every writer for the same fixed runs.

mod brief;
mod export;
mod findings;
mod fixture;
mod html;
mod junit;
mod markdown;
mod text;
