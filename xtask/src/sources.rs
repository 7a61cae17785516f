//! The program's own text, for the checks that read it.

use std::fs;
use std::path::{Path, PathBuf};

/// The program's files in order, with what is neither comment nor test.
pub(crate) fn sources() -> Result<Vec<(PathBuf, String)>, String> {
    let mut found = Vec::new();
    for entry in entries(Path::new("crates"))? {
        collect(&entry.join("src"), &mut found)?;
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<(PathBuf, String)>) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            found.push((path, program(&text)));
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(told)? {
        paths.push(entry.map_err(told)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// What is neither comment nor test.
fn program(text: &str) -> String {
    let before_tests = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = before_tests.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tests_do_not_count() {
        let text = "//! messaging\nuse a;\n    /// messaging\n\n#[cfg(test)]\nmod tests {\n messaging\n}\n";
        assert_eq!(program(text), "use a;\n");
    }
}
