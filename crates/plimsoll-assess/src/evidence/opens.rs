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

/// For each program the narrowest folder, or the file, that most of its additional opens are of. Files count by their names alone, since each command may
/// have a folder of its own. Only what each run of the worse command opens more often than any run of the better one counts: strangers come and go.
pub(crate) fn of_runs([better, worse]: [&[Opens]; 2]) -> Vec<Evidence> {
    let [was, is] = [better, worse].map(|runs| runs.iter().map(by_name).collect::<Vec<_>>());
    let times = |run: &ByName<'_>, file: (&str, &str)| run.get(&file).copied().unwrap_or(0);
    let files: BTreeSet<(&str, &str)> = is.iter().flat_map(|run| run.keys().copied()).collect();
    let mut added: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for file in files {
        let was = was.iter().map(|run| times(run, file)).max().unwrap_or(0);
        let is = is.iter().map(|run| times(run, file)).min().unwrap_or(0);
        if is > was {
            added.entry(file.0).or_default().insert(file.1, is - was);
        }
    }
    let evidence = added.into_iter().filter_map(|(program, files)| {
        let all: u64 = files.values().sum();
        let paths = worse.iter().flat_map(BTreeMap::keys).filter(|(of, _)| of == program);
        let paths: BTreeSet<&str> = paths.map(|(_, path)| path.as_str()).collect();
        let more = paths.into_iter().filter_map(|path| Some((path, *files.get(name(path))?)));
        let place = narrowest(&more.collect::<Vec<_>>(), MOST).filter(|_| all >= LEAST.0)?;
        let [before, after] = [&was, &is].map(|runs| {
            let of_files =
                |run: &ByName<'_>| files.keys().map(|file| times(run, (program, file))).sum::<u64>();
            runs.iter().map(of_files).sum::<u64>() as f64 / runs.len().max(1) as f64
        });
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

/// How often each program opened files of each name.
type ByName<'r> = BTreeMap<(&'r str, &'r str), u64>;

fn by_name(run: &Opens) -> ByName<'_> {
    let mut files = ByName::new();
    for ((program, path), times) in run {
        *files.entry((program, name(path))).or_default() += times;
    }
    files
}

/// The name of a file without its folder.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The longest path that is a file, or a folder with a slash at its end, which has at least that part of all opens.
fn narrowest<'f>(files: &[(&'f str, u64)], part: f64) -> Option<&'f str> {
    let mut places: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, more) in files {
        let folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
        folders.chain([*path]).for_each(|place| *places.entry(place).or_default() += more);
    }
    let all: u64 = files.iter().map(|(_, more)| more).sum();
    let enough = places.into_iter().filter(|(_, more)| *more as f64 >= part * all as f64);
    enough.map(|(place, _)| place).max_by_key(|place| place.len())
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
        let (a, b) = (("/usr/include/c++/x.h", 15), ("/usr/include/c++/bits/y.h", 15));
        let bad = [run(&[("/usr/lib/libc.so", 1), ("/usr/include/a.h", 2), a, b, ("/home/c.h", 2)])];
        let metric = |place: &str| format!("files.opened by cc1plus: {place} (per run)");
        assert_eq!(named(&good, &bad), [(metric("/usr/include/c++/"), 0.0, 32.0)]);
        let one = [run(&[("/var/log/a", 400)])];
        assert_eq!(named(&good, &one), [(metric("/var/log/a"), 0.0, 400.0)]);
    }

    #[test]
    fn the_same_files_in_another_folder_are_no_other_files() {
        let copy = |folder: &str| {
            run(&[(&format!("/data/{folder}/a.txt"), 80), (&format!("/data/{folder}/b.txt"), 80)])
        };
        assert!(named(&[copy("1")], &[copy("2")]).is_empty());
        let sources = run(&[("/2/a.pyc", 80), ("/2/a.py", 80)]);
        let metric = "files.opened by cc1plus: /2/a.py (per run)".to_owned();
        assert_eq!(named(&[run(&[("/1/a.pyc", 80)])], &[sources]), [(metric, 0.0, 80.0)]);
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
