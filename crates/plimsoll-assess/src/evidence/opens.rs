//! Files that one of two commands opens more often than the other.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_explain::causes::OPENED;
use plimsoll_model::report::Evidence;

use super::HERE;

/// How often each program opened each file in a run.
type Opens = BTreeMap<(String, String), u64>;

/// The fewest opens more in a run that are worth a mention, and how many times as many as before these make.
const LEAST: (u64, f64) = (20, 2.0);
/// The part of them that must be of the file, or of the folder, that is named.
const MOST: f64 = 0.6;

/// For each program the narrowest folder, or the file, that most of its additional opens are of. Only what each run of the worse command opens more
/// often than any run of the better one counts: strangers come and go.
pub(crate) fn of_runs([better, worse]: [&[Opens]; 2]) -> Vec<Evidence> {
    let times = |run: &Opens, key: &(String, String)| run.get(key).copied().unwrap_or(0);
    let keys: BTreeSet<&(String, String)> = worse.iter().flat_map(BTreeMap::keys).collect();
    let mut added: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for key in keys {
        let was = better.iter().map(|run| times(run, key)).max().unwrap_or(0);
        let is = worse.iter().map(|run| times(run, key)).min().unwrap_or(0);
        if is > was {
            added.entry(&key.0).or_default().push((&key.1, is - was));
        }
    }
    let evidence = added.into_iter().filter_map(|(program, files)| {
        let all: u64 = files.iter().map(|(_, more)| more).sum();
        let place = narrowest(&files, MOST * all as f64).filter(|_| all >= LEAST.0)?;
        let [before, after] = [better, worse].map(|runs| mean(runs, program, place));
        (after >= LEAST.1 * before).then(|| Evidence {
            host: HERE.to_owned(),
            metric: format!("{OPENED}{program}: {place} (per run)"),
            before,
            after,
            unit: "count".to_owned(),
            shift: 1.0,
            control_ratio: None,
        })
    });
    evidence.collect()
}

/// The longest path that is a file, or a folder with a slash at its end, of which there are at least that many opens.
fn narrowest<'f>(files: &[(&'f str, u64)], least: f64) -> Option<&'f str> {
    let mut places: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, more) in files {
        let folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
        folders.chain([*path]).for_each(|place| *places.entry(place).or_default() += more);
    }
    let enough = places.into_iter().filter(|(_, more)| *more as f64 >= least);
    enough.map(|(place, _)| place).max_by_key(|place| place.len())
}

/// How often a program opened what is there, in a run.
fn mean(runs: &[Opens], program: &str, place: &str) -> f64 {
    let is_there = |path: &str| path == place || place.ends_with('/') && path.starts_with(place);
    let of_all = runs.iter().flatten().filter(|((of, path), _)| of == program && is_there(path));
    of_all.map(|(_, times)| *times).sum::<u64>() as f64 / runs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(files: &[(&str, u64)]) -> Opens {
        files.iter().map(|(path, times)| (("cc1plus".to_owned(), (*path).to_owned()), *times)).collect()
    }

    fn named(better: &[Opens], worse: &[Opens]) -> Vec<(String, f64, f64)> {
        of_runs([better, worse]).into_iter().map(|it| (it.metric, it.before, it.after)).collect()
    }

    #[test]
    fn the_folder_of_most_additional_opens_is_named() {
        let good = [run(&[("/usr/lib/libc.so", 1), ("/usr/include/a.h", 2)])];
        let (a, b) = (("/usr/include/c++/a.h", 15), ("/usr/include/c++/bits/b.h", 15));
        let bad = [run(&[("/usr/lib/libc.so", 1), ("/usr/include/a.h", 2), a, b, ("/home/c.h", 2)])];
        let metric = |place: &str| format!("files.opened by cc1plus: {place} (per run)");
        assert_eq!(named(&good, &bad), [(metric("/usr/include/c++/"), 0.0, 30.0)]);
        let one = [run(&[("/var/log/a", 400)])];
        assert_eq!(named(&good, &one), [(metric("/var/log/a"), 0.0, 400.0)]);
    }

    #[test]
    fn opens_of_a_single_run_and_few_more_are_left_out() {
        let (none, many) = (run(&[]), run(&[("/a/b", 100)]));
        assert!(named(std::slice::from_ref(&none), &[many.clone(), none.clone()]).is_empty());
        assert!(named(&[none.clone(), many.clone()], &[many.clone(), many.clone()]).is_empty());
        assert!(named(&[many], &[run(&[("/a/b", 130)])]).is_empty());
        assert!(named(&[none], &[run(&[("/a/b", 19)])]).is_empty());
    }
}
