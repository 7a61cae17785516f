//! The bill of materials: which crates the program is made of, with their versions, licences and hashes.
//!
//! No part of `cargo xtask test`, since the tool takes two minutes to build. Each file is checked against the published schema.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{python, shell, tool};

/// The version of cargo-cyclonedx that is used.
const VERSION: &str = "0.5.9";
/// Name of its file beside the manifest of each crate of the workspace.
const NAME: &str = "plimsoll-sbom";
/// The package from PyPI that has CycloneDX's published schema and checks files against it.
const VALIDATOR: &str = "cyclonedx-python-lib[json-validation]==11.12.0";
const VALIDATE: &str = "\
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1], encoding='utf-8').read())
sys.exit(wrong and str(wrong))
";

/// Writes it for a target as CycloneDX 1.5 in JSON, into `plimsoll-TARGET.cdx.json` of the target folder, and fails if that does not match its schema.
pub(crate) fn run(target: &str) -> Result<(), String> {
    let folder = shell::target_folder();
    let written = write(&folder, target)?;
    python::install(&folder, "cyclonedx", &[VALIDATOR], "cyclonedx")?;
    let modules = format!("PYTHONPATH={}", folder.join("tmp/cyclonedx").display());
    let file = written.display().to_string();
    shell::run("env", &[&modules, "/usr/bin/python3", "-c", VALIDATE, &file])?;
    println!("{file}");
    Ok(())
}

fn write(folder: &Path, target: &str) -> Result<PathBuf, String> {
    let program = tool::build(folder, "cargo-cyclonedx", VERSION, &[])?;
    let time = shell::output("git", &["log", "-1", "--format=%ct"])?;
    // Equal commits give equal files: no present time, no random number.
    let epoch = format!("SOURCE_DATE_EPOCH={}", time.trim());
    let words = ["cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--no-build-deps"];
    let what = ["--target", target, "--override-filename", NAME];
    shell::run("env", &[&[epoch.as_str(), program.as_str()], &words[..], &what].concat())?;
    let mut text = None;
    for path in crates()? {
        let written = path.join(format!("{NAME}.json"));
        if path.ends_with("plimsoll") {
            text = Some(fs::read_to_string(&written).map_err(|error| failed(&written, &error))?);
        }
        if written.exists() {
            fs::remove_file(&written).map_err(|error| failed(&written, &error))?;
        }
    }
    let text = text.ok_or("cargo-cyclonedx has written nothing of the program")?;
    // The folder is private, and would make two files of one commit differ.
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    let text = text.replace(&format!("path+file://{}/", here.display()), "path+file:///plimsoll/");
    let mut bill = serde_json::from_str(&text).map_err(|error| format!("{NAME}: {error}"))?;
    keep(&mut bill, &linked(target)?);
    let into = folder.join(format!("plimsoll-{target}.cdx.json"));
    fs::write(&into, format!("{bill:#}\n")).map_err(|error| failed(&into, &error))?;
    Ok(into)
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// The folders of the crates of the workspace.
fn crates() -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir("crates").map_err(|error| failed(Path::new("crates"), &error))?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut found: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    found.push("xtask".into());
    Ok(found)
}

/// The crates of the program, each as `NAME VERSION`.
pub(crate) fn linked(target: &str) -> Result<BTreeSet<String>, String> {
    let tree = ["tree", "--locked", "--package", "plimsoll", "--edges", "normal", "--prefix", "none"];
    let tree = shell::output("cargo", &[&tree[..], &["--target", target, "--format", "{p}"]].concat())?;
    // The folder of a project's crate and marks follow the version.
    let words = tree.lines().map(str::split_whitespace);
    Ok(words
        .filter_map(|mut words| Some(crate_name(words.next()?, words.next()?.trim_start_matches('v'))))
        .collect())
}

/// Name of a crate in it.
pub(crate) fn crate_name(name: &str, version: &str) -> String {
    format!("{name} {version}")
}

/// Removes crates that no feature of the program needs: cargo-cyclonedx lists the whole lock file for the target.
fn keep(bill: &mut Value, linked: &BTreeSet<String>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut left_out = BTreeSet::new();
    if let Some(components) = bill["components"].as_array_mut() {
        components.retain(|component| {
            let name = crate_name(&text(&component["name"]), &text(&component["version"]));
            let stays = linked.contains(&name);
            if !stays {
                left_out.insert(text(&component["bom-ref"]));
            }
            stays
        });
    }
    let Some(dependencies) = bill["dependencies"].as_array_mut() else { return };
    dependencies.retain(|dependency| !left_out.contains(&text(&dependency["ref"])));
    for dependency in dependencies {
        if let Some(on) = dependency.get_mut("dependsOn").and_then(Value::as_array_mut) {
            on.retain(|reference| !left_out.contains(&text(reference)));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_feature_switches_on_is_left_out_with_what_leads_there() {
        let mut bill = json!({
            "components": [
                { "name": "used", "version": "1.0.0", "bom-ref": "used" },
                { "name": "used", "version": "0.9.0", "bom-ref": "older" },
            ],
            "dependencies": [{ "ref": "program", "dependsOn": ["used", "older"] }, { "ref": "used" }, { "ref": "older" }],
        });
        keep(&mut bill, &BTreeSet::from(["used 1.0.0".to_owned()]));
        let kept = json!({
            "components": [{ "name": "used", "version": "1.0.0", "bom-ref": "used" }],
            "dependencies": [{ "ref": "program", "dependsOn": ["used"] }, { "ref": "used" }],
        });
        assert_eq!(bill, kept);
    }
}
