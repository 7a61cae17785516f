//! The program's own text, for the checks that read it.

use std::fs;
use std::path::{Path, PathBuf};

/// The program's files in order, with what is neither comment nor test.
pub(crate) fn sources() -> Result<Vec<(PathBuf, String)>, String> {
    let mut found = Vec::new();
    for entry in entries(Path::new("crates"))? {
        collect(&entry.join("src"), &mut |path, text| found.push((path, program(text))))?;
    }
    Ok(found)
}

/// Hands every file of a folder on with its text, in order.
fn collect(folder: &Path, take: &mut dyn FnMut(PathBuf, &str)) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            collect(&path, take)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            take(path, &text);
        }
    }
    Ok(())
}

/// Adds every file of a folder and of those below it, in order.
pub(crate) fn files_below(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() { files_below(&path, into)? } else { into.push(path) }
    }
    Ok(())
}

/// Sorted paths of a folder's entries.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(problem)? {
        paths.push(entry.map_err(problem)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Lines at most of a file, without its tests: what is longer does more than one thing.
const LONGEST: usize = 600;

/// Fails on a file that is too long.
pub(crate) fn check_lengths() -> Result<(), String> {
    let mut wrong = Vec::new();
    each_file(&mut |path, text| {
        let lines = before_tests(text).lines().count();
        if lines > LONGEST {
            wrong.push(format!("{} has {lines} lines without tests, {LONGEST} at most", path.display()));
        }
    })?;
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n       ")) }
}

/// Hands on every Rust file of the project with its text: products, tests, examples and chores.
pub(crate) fn each_file(take: &mut dyn FnMut(&Path, &str)) -> Result<(), String> {
    for folder in entries(Path::new("crates"))?.into_iter().chain(["xtask", "fuzz", "lab"].map(PathBuf::from))
    {
        for part in ["src", "tests", "benches", "examples", "fuzz_targets"] {
            let folder = folder.join(part);
            if folder.is_dir() {
                collect(&folder, &mut |path, text| take(&path, text))?;
            }
        }
    }
    Ok(())
}

/// What stands before a file's tests.
fn before_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// The program without its comments and tests.
fn program(text: &str) -> String {
    let lines = before_tests(text).lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tests_do_not_count() {
        let text = "//! messaging\nuse a;\n    /// messaging\n\n#[cfg(test)]\nmod tests {\n messaging\n}\n";
        assert_eq!(program(text), "use a;\n");
        assert_eq!(before_tests(text).lines().count(), 4);
    }
}
