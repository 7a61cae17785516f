//! Room for a descriptor per connection.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use plimsoll_model::frame::Failure;

use crate::failure::{other, refused};

/// Reserve for other files of this process.
const SPARE: u64 = 32;

/// Makes sure that `connections` can be open at a time, raising this process's limit when it has to.
///
/// # Errors
/// When the hard limit is too low, and this process may not raise it.
pub(crate) fn make_room(connections: u64) -> Result<(), Failure> {
    let (soft, hard) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(|error| refused("read the descriptor limit", error))?;
    let needed = connections.saturating_add(open_now()).saturating_add(SPARE);
    if needed <= soft || setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed)).is_ok() {
        return Ok(());
    }
    let error = format!(
        "it takes {needed} file descriptors, and the limit is {hard}; raise the hard limit, as root by `ulimit -n`"
    );
    Err(other(format!("open {connections} connections at a time"), &error))
}

/// How many descriptors this process has open. Where /proc is missing, few are assumed.
fn open_now() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_cannot_give_is_said_before_the_start() {
        let failure = make_room(1 << 40).unwrap_err().to_string();
        assert!(failure.contains("1099511627776 connections"), "{failure}");
        assert!(failure.contains("the limit is"), "{failure}");
    }
}
