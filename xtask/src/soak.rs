//! The soak: runs are killed, stopped and starved for minutes, and each try is checked for lost data and leftovers.
//!
//! The tries are in `crates/plimsoll/tests/cli/soak`, which the tests run in a short form.

use crate::{packages, shell};

/// The story that carries it out.
const STORY: &str =
    "soak::whatever_is_killed_full_or_corrupt_nothing_that_was_stored_is_lost_and_nothing_is_left";

/// Runs for `minutes` with this seed, or a random one; or repeats a single try of it.
pub(crate) fn run(minutes: &str, seed: Option<&str>, only: Option<&str>) -> Result<(), String> {
    if !packages::is_root()? {
        return Err("the soak makes hosts as root: run `sudo -E env PATH=\"$PATH\" cargo xtask soak`".into());
    }
    let given = [
        ("number of minutes", "PLIMSOLL_SOAK_MINUTES", Some(minutes)),
        ("seed", "PLIMSOLL_SOAK_SEED", seed),
        ("number of a try", "PLIMSOLL_SOAK_TRY", only),
    ];
    let mut words = Vec::new();
    for (what, variable, value) in given {
        let Some(value) = value else { continue };
        value.parse::<u64>().map_err(|_| format!("a {what} was expected in place of `{value}`"))?;
        words.push(format!("{variable}={value}"));
    }
    let test = ["cargo", "test", "--locked", "--package", "plimsoll", "--test", "cli", "--"];
    let story = [STORY, "--exact", "--include-ignored", "--nocapture"];
    let words: Vec<&str> = words.iter().map(String::as_str).chain(test).chain(story).collect();
    shell::run("env", &words)
}
