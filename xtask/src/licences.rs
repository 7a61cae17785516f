//! Whether every dependency may be used: its licence is one of those that we accept, and it comes from crates.io.

use crate::shell;

/// Licences, as SPDX names them, that ask for no more than to be named.
const ACCEPTED: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Fails on each package whose licence is not accepted, or that comes from elsewhere.
pub(crate) fn check() -> Result<(), String> {
    let text = shell::output("cargo", &["metadata", "--format-version", "1", "--locked"])?;
    let metadata: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let wrong: Vec<String> = packages.iter().filter_map(objection).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn objection(package: &serde_json::Value) -> Option<String> {
    let name = package["name"].as_str().unwrap_or_default();
    match (package["license"].as_str(), package["source"].as_str()) {
        (None, _) => Some(format!("{name} names no licence")),
        (Some(licence), _) if !is_accepted(licence) => {
            Some(format!("{name} is under {licence}; accepted are {}", ACCEPTED.join(", ")))
        }
        (_, Some(source)) if source != REGISTRY => {
            Some(format!("{name} comes from {source}; expected {REGISTRY}"))
        }
        _ => None,
    }
}

/// Whether an SPDX expression leaves a choice that is accepted. Parentheses stand around alternatives only, in what is published; the old
/// form `MIT/Apache-2.0` means a choice.
fn is_accepted(expression: &str) -> bool {
    expression.split(" AND ").all(|part| {
        let part = part.trim_matches(['(', ')']);
        part.split(" OR ").flat_map(|one| one.split('/')).any(|one| ACCEPTED.contains(&one.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_enough_and_each_part_is_asked() {
        for good in
            ["MIT", "LGPL-2.1-or-later OR MIT", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"]
        {
            assert!(is_accepted(good), "{good}");
        }
        for bad in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "(GPL-2.0 OR LGPL-2.1) AND MIT", ""] {
            assert!(!is_accepted(bad), "{bad}");
        }
    }

    #[test]
    fn a_package_from_elsewhere_is_refused() {
        let package =
            |source: Option<&str>| serde_json::json!({ "name": "x", "license": "MIT", "source": source });
        assert_eq!(objection(&package(None)), None);
        assert_eq!(objection(&package(Some(REGISTRY))), None);
        let elsewhere = objection(&package(Some("git+https://example.org/x")));
        assert!(elsewhere.is_some_and(|told| told.contains("comes from git+")));
    }
}
