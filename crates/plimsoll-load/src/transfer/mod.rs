//! Bytes in bulk: how they are handed to the kernel and taken from it, what is agreed on before they flow, and what the kernel knows of
//! a connection. Loads and services share all of it.

pub(crate) mod exchange;
mod inlet;
pub(crate) mod opening;
mod outlet;
mod pace;
pub(crate) mod packet;
mod pipe;
pub(crate) mod socket;
pub(crate) mod tcp_limits;
pub(crate) mod tcp_state;

pub(crate) use inlet::Inlet;
pub(crate) use outlet::Outlet;
pub(crate) use pace::{Patience, Stop};
pub(crate) use pipe::Pipe;
