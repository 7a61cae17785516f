//! The licences of the crates that the program is made of, word for word: most of them must accompany the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{sbom, shell};

/// First parts of the names of files with a licence, or with notices that it requires.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// The texts for a target, each once with the crates that have it.
pub(crate) fn of(target: &str) -> Result<String, String> {
    let options = ["metadata", "--format-version", "1", "--locked", "--filter-platform", target];
    let metadata = shell::output("cargo", &options)?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let linked = sbom::linked(target)?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let name = sbom::crate_name(text("name"), text("version"));
        // Packages without a source are this project's own.
        if package["source"].is_null() || !linked.contains(&name) {
            continue;
        }
        let folder = Path::new(text("manifest_path")).parent().unwrap_or(Path::new("."));
        let mut found = in_folder(folder)?;
        if found.is_empty() {
            found.push(from_manifest(package));
        }
        for text in found {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    if texts.is_empty() {
        return Err(format!("cargo metadata names no crate of the program for {target}"));
    }
    Ok(joined(texts))
}

/// The files of a crate.
fn in_folder(folder: &Path) -> Result<Vec<String>, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.path().is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            let text = fs::read(entry.path()).map_err(failed)?;
            found.push(String::from_utf8_lossy(&text).replace('\r', "").trim_end().to_owned());
        }
    }
    Ok(found)
}

/// Notice of a crate without such a file, from its manifest.
fn from_manifest(package: &Value) -> String {
    let authors: Vec<&str> =
        package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let licence = package["license"].as_str().unwrap_or("not given");
    match authors.as_slice() {
        [] => format!("Its manifest names the licence {licence}; the crate has no text of it."),
        some => format!(
            "Its manifest names the licence {licence}, and {}; the crate has no text of it.",
            some.join(", ")
        ),
    }
}

/// One after the other, in the order of the first crate that has it.
fn joined(texts: BTreeMap<String, Vec<String>>) -> String {
    let mut texts: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, crates)| (crates, text)).collect();
    texts.sort();
    let rule = "=".repeat(78);
    let mut all = String::from("Licences of the crates of which the program plimsoll is made\n");
    for (crates, text) in texts {
        all += &format!("\n{rule}\n{}\n{rule}\n\n{text}\n", crates.join(", "));
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_crates_share_stands_once() {
        let own = |name: &str| vec![name.to_owned()];
        let texts = BTreeMap::from([
            ("MIT".to_owned(), vec!["b 1.0.0".to_owned(), "c 1.0.0".to_owned()]),
            ("Zlib".to_owned(), own("a 2.0.0")),
        ]);
        let all = joined(texts);
        let at = |words: &str| all.find(words).unwrap_or_else(|| panic!("{words} is missing: {all}"));
        assert!(
            at("a 2.0.0") < at("Zlib") && at("Zlib") < at("b 1.0.0, c 1.0.0") && at("c 1.0.0") < at("MIT")
        );
    }

    #[test]
    fn a_crate_without_a_text_is_listed_with_what_its_manifest_says() {
        let of = |authors: &[&str]| from_manifest(&json!({ "license": "MIT", "authors": authors }));
        assert!(of(&[]).contains("the licence MIT;"));
        assert!(of(&["A", "B"]).contains("the licence MIT, and A, B;"));
    }

    #[test]
    fn files_of_licences_are_found_by_their_names() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let found = in_folder(&folder).unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("MIT License"), "{}", found[0]);
    }
}
