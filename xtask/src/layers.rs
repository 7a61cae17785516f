//! Allowed imports between crates. The table is the architecture; an edge outside of it fails.

use crate::shell;

/// Each crate with its allowed imports beside `plimsoll-model`, which every crate may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("plimsoll-figures", &[]),
    ("plimsoll-model", &["plimsoll-figures"]),
    ("plimsoll-netlink", &[]),
    ("plimsoll-path", &[]),
    ("plimsoll-load", &["plimsoll-netlink", "plimsoll-path"]),
    ("plimsoll-inventory", &[]),
    ("plimsoll-probe", &["plimsoll-inventory", "plimsoll-netlink"]),
    ("plimsoll-agent", &["plimsoll-inventory", "plimsoll-load", "plimsoll-path", "plimsoll-probe"]),
    ("plimsoll-host", &["plimsoll-netlink", "plimsoll-path"]),
    ("plimsoll-store", &["plimsoll-path"]),
    ("plimsoll-run", &["plimsoll-host", "plimsoll-store"]),
    ("plimsoll-judge", &[]),
    ("plimsoll-explain", &["plimsoll-judge"]),
    ("plimsoll-import", &["plimsoll-figures"]),
    ("plimsoll-assess", &["plimsoll-explain", "plimsoll-import", "plimsoll-judge"]),
    ("plimsoll-report", &[]),
    (
        "plimsoll-serve",
        &["plimsoll-assess", "plimsoll-explain", "plimsoll-judge", "plimsoll-report", "plimsoll-store"],
    ),
    (
        "plimsoll",
        &[
            "plimsoll-agent",
            "plimsoll-assess",
            "plimsoll-explain",
            "plimsoll-host",
            "plimsoll-import",
            "plimsoll-inventory",
            "plimsoll-judge",
            "plimsoll-load",
            "plimsoll-path",
            "plimsoll-probe",
            "plimsoll-report",
            "plimsoll-run",
            "plimsoll-serve",
            "plimsoll-store",
        ],
    ),
    ("xtask", &[]),
];

/// Further allowed imports of a crate's tests: fixtures.
const TESTS_MAY_USE: &[(&str, &[&str])] = &[("plimsoll-explain", &["plimsoll-import"])];

/// Fails on any edge between the project's crates that is not allowed.
pub(crate) fn check() -> Result<(), String> {
    let text = shell::output("cargo", &["metadata", "--format-version", "1", "--no-deps", "--locked"])?;
    let metadata: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let mut wrong = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(allowed) = allowed(MAY_USE, name) else {
            wrong.push(format!("{name} is in no wing; say in xtask/src/layers.rs what it may use"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let uses = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"].as_str() == Some("dev");
            let in_tests = for_tests && allowed_in_tests(name, uses);
            if uses.starts_with("plimsoll")
                && uses != "plimsoll-model"
                && !allowed.contains(&uses)
                && !in_tests
            {
                wrong.push(format!("{name} uses {uses}, which it may not"));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n       ")) }
}

fn allowed<'t>(table: &'t [(&str, &[&'t str])], name: &str) -> Option<&'t [&'t str]> {
    table.iter().find(|(of, _)| *of == name).map(|(_, uses)| *uses)
}

fn allowed_in_tests(name: &str, uses: &str) -> bool {
    allowed(TESTS_MAY_USE, name).is_some_and(|extra| extra.contains(&uses))
}
