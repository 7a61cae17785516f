//! The soak: processes of runs are killed and stopped at random moments, disks are full, limits low, stores corrupt. After each try, other programs
//! look for lost data in the store and for remains on the machine.
//!
//! `cargo xtask soak` carries it out for minutes, and the story here once for each kind. A try is drawn from the seed and its number alone, so that it
//! can be repeated by itself; docs/reliability.md has the counts.

mod aim;
mod outside;
mod tries;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use tries::{Damage, Kind, Sandbox};

/// Minutes to go on; unset for one try of each kind.
const MINUTES: &str = "PLIMSOLL_SOAK_MINUTES";
/// The seed; a random one where it is not set.
const SEED: &str = "PLIMSOLL_SOAK_SEED";
/// The number of the only try to carry out.
const ONLY: &str = "PLIMSOLL_SOAK_TRY";
/// Set where it is carried out.
const INSIDE: &str = "PLIMSOLL_SOAK_INSIDE";

/// The name of the story, by which it starts itself again.
const STORY: &str =
    "soak::whatever_is_killed_full_or_corrupt_nothing_that_was_stored_is_lost_and_nothing_is_left";

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn whatever_is_killed_full_or_corrupt_nothing_that_was_stored_is_lost_and_nothing_is_left() {
    assert!(nix::unistd::geteuid().is_root(), "this test needs root; `cargo xtask test` runs it");
    if env::var_os(INSIDE).is_some() {
        return soak();
    }
    // Two soaks at once would take each other's settings for remains.
    let _alone =
        fs::File::open("/var/tmp").and_then(|folder| folder.lock().map(|()| folder)).expect("a lock");
    // The soak has started every process with an id in there, and no doctor in there sees other journals or processes. The shell is process 1, which
    // reaps orphans.
    let mount = "mount -t tmpfs -o mode=755 none /run && \"$@\"; exit $?";
    // `unshare` is deaf to requests to end, and would outlive this process.
    let status = Command::new("setpriv")
        .args([
            "--pdeathsig",
            "KILL",
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            mount,
            "soak",
        ])
        .arg(env::current_exe().expect("this test has a file"))
        .args([STORY, "--exact", "--include-ignored", "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("unshare starts");
    assert!(status.success(), "the soak failed, with what it printed above: {status}");
}

/// Results of the tries of a kind.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    tries: usize,
    lost: usize,
    /// Number of tries in which the doctor undid something.
    undone: usize,
    left: usize,
    unclear: usize,
}

fn number<N: std::str::FromStr>(variable: &str) -> Option<N> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}: a number was expected in place of `{text}`")))
}

fn soak() {
    let seed: u64 = number(SEED).unwrap_or_else(|| rand::rng().random_range(0..1_000_000_000));
    let only: Option<usize> = number(ONLY);
    let end = number(MINUTES).map(|minutes: u64| Instant::now() + Duration::from_secs(60 * minutes));
    let program = program();
    eprintln!("seed {seed}");
    let mut counts: BTreeMap<Kind, Count> = BTreeMap::new();
    let mut broken = Vec::new();
    for nth in only.unwrap_or(0).. {
        let is_over = match (only, end) {
            (Some(only), _) => nth > only,
            (None, Some(end)) => Instant::now() > end,
            (None, None) => nth == Kind::ALL.len(),
        };
        if is_over {
            break;
        }
        let kind = Kind::ALL[nth % Kind::ALL.len()];
        let place = Sandbox::new(&program.1);
        let began = Instant::now();
        let found = kind.attempt(&place, &mut StdRng::seed_from_u64(seed.wrapping_add(nth as u64)));
        let wrong = count(counts.entry(kind).or_default(), &found);
        eprintln!(
            "try {nth}, {}: {} ({:.1} s)",
            kind.title(),
            found.summary(),
            began.elapsed().as_secs_f64()
        );
        if wrong {
            broken.push(format!("try {nth}, {}: {}", kind.title(), found.summary()));
        }
    }
    eprint!("{}", table(&counts));
    let again = "`cargo xtask soak 1 SEED TRY` repeats one";
    assert!(broken.is_empty(), "seed {seed}; {again}:\n{}", broken.join("\n"));
}

/// Adds a try to its kind. Returns whether it was faulty.
fn count(count: &mut Count, found: &Damage) -> bool {
    count.tries += 1;
    count.lost += usize::from(!found.lost.is_empty());
    count.undone += usize::from(!found.undone.is_empty());
    count.left += usize::from(!found.left.is_empty());
    count.unclear += usize::from(!found.unclear.is_empty());
    !(found.lost.is_empty() && found.left.is_empty() && found.unclear.is_empty())
}

fn table(counts: &BTreeMap<Kind, Count>) -> String {
    let mut table =
        "| what is done | tries | something lost | undone by doctor | left after doctor | unclear end |\n\
                     | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    let mut sum = Count::default();
    let line = |name: &str, count: Count| {
        let Count { tries, lost, undone, left, unclear } = count;
        format!("| {name} | {tries} | {lost} | {undone} | {left} | {unclear} |\n")
    };
    for (kind, count) in counts {
        table.push_str(&line(kind.title(), *count));
        sum.tries += count.tries;
        sum.lost += count.lost;
        sum.undone += count.undone;
        sum.left += count.left;
        sum.unclear += count.unclear;
    }
    table.push_str(&line("all", sum));
    table
}

/// A copy of the program that every user may execute, in a folder that goes with it.
fn program() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder for the program");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("allowed");
    let copy = folder.path().join("plimsoll");
    let copied =
        Command::new("install").args(["-m", "755", env!("CARGO_BIN_EXE_plimsoll")]).arg(&copy).status();
    assert!(copied.expect("install starts").success());
    (folder, copy)
}

#[test]
fn a_try_in_which_anything_is_lost_left_or_unclear_fails_the_soak() {
    let mut sum = Count::default();
    let one = || vec!["it".to_owned()];
    assert!(!count(&mut sum, &Damage::default()));
    assert!(!count(&mut sum, &Damage { undone: one(), ..Damage::default() }), "the doctor is there for that");
    assert!(count(&mut sum, &Damage { lost: one(), ..Damage::default() }));
    assert!(count(&mut sum, &Damage { left: one(), ..Damage::default() }));
    assert!(count(&mut sum, &Damage { unclear: one(), ..Damage::default() }));
    let table = table(&BTreeMap::from([(Kind::FullDisk, sum)]));
    assert!(table.ends_with("| all | 5 | 1 | 1 | 1 | 1 |\n"), "{table}");
}
