//! Circles between the modules of a folder: two that use each other can neither be read nor changed one at a time.
//!
//! Folders give the modules, and paths in the source (`crate::…`, `super::…`) give their uses. Tests are left out. A module may use its parent,
//! as the parent declares it; siblings, with all that lies below them, may not use each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::sources::sources;

type Module = Vec<String>;
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// `crates/NAME/src`
const FOLDERS_OF_A_CRATE: usize = 3;

/// Fails on any circle between sibling modules of the project's crates.
pub(crate) fn check() -> Result<(), String> {
    let mut wrong = Vec::new();
    for (folder, modules) in crates()? {
        for (parent, edges) in sibling_edges(&modules) {
            for circle in circles(&edges) {
                let parent = if parent.is_empty() { "the crate".into() } else { parent.join("::") };
                wrong.push(format!(
                    "{}: in {parent}: {} use each other",
                    folder.display(),
                    circle.join(", ")
                ));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n       ")) }
}

/// Uses of each module within its crate.
fn crates() -> Result<BTreeMap<PathBuf, Uses>, String> {
    let mut files: BTreeMap<PathBuf, Vec<(Module, String)>> = BTreeMap::new();
    for (file, text) in sources()? {
        let folder: PathBuf = file.iter().take(FOLDERS_OF_A_CRATE).collect();
        files.entry(folder.clone()).or_default().push((module_of(&folder, &file), text));
    }
    let used = |(folder, files): (PathBuf, Vec<(Module, String)>)| {
        let names: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
        let of = |(module, text): (Module, String)| {
            let used = paths(&text).into_iter().filter_map(|path| resolve(&module, &path, &names)).collect();
            (module, used)
        };
        (folder, files.into_iter().map(of).collect())
    };
    Ok(files.into_iter().map(used).collect())
}

fn module_of(folder: &Path, file: &Path) -> Module {
    let inside = file.strip_prefix(folder).unwrap_or(file).with_extension("");
    let mut parts: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// Paths from `crate` or `super` in a text, one for each name of a `use`.
fn paths(text: &str) -> Vec<Module> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                continue;
            }
            expand(&code[at..], &mut Vec::new(), &mut found);
        }
    }
    found
}

/// Follows a path with its braces. Returns the number of bytes that it took.
fn expand(text: &str, before: &mut Module, found: &mut Vec<Module>) -> usize {
    let length = before.len();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        at += blank;
        if let Some(group) = rest.strip_prefix('{') {
            at += 1;
            let mut inside = group;
            loop {
                let taken = expand(inside, before, found);
                at += taken;
                inside = &inside[taken..];
                let next = inside.trim_start();
                at += inside.len() - next.len();
                match next.chars().next() {
                    Some(',') => (at, inside) = (at + 1, &next[1..]),
                    Some('}') => {
                        at += 1;
                        break;
                    }
                    _ => break,
                }
            }
            before.truncate(length);
            return at;
        }
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if word.is_empty() {
            break;
        }
        at += word.len();
        before.push(word);
        if !text[at..].starts_with("::") {
            break;
        }
        at += "::".len();
    }
    found.push(before.clone());
    before.truncate(length);
    at
}

/// The module of the crate that a path leads into: the longest one that is a file.
fn resolve(from: &Module, path: &[String], names: &BTreeSet<Module>) -> Option<Module> {
    let mut base = from.clone();
    let mut rest = path;
    if rest.first().is_some_and(|word| word == "crate") {
        base.clear();
        rest = &rest[1..];
    }
    while rest.first().is_some_and(|word| word == "super") {
        base.pop()?;
        rest = &rest[1..];
    }
    let longest = (0..=rest.len()).rev().map(|taken| [&base[..], &rest[..taken]].concat());
    longest.into_iter().find(|module| names.contains(module)).filter(|module| module != from)
}

/// For each module with children: which of the children uses which.
fn sibling_edges(uses: &Uses) -> BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> {
    let mut edges: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (from, to) in uses.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to))) {
        let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
            let siblings = edges.entry(from[..shared].to_vec()).or_default();
            siblings.entry(one.clone()).or_default().insert(other.clone());
        }
    }
    edges
}

/// The sets of more than one module each of which leads to all others of its set.
fn circles(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&String> = edges.get(from).into_iter().flatten().collect();
        while let Some(module) = next.pop() {
            if seen.insert(module.clone()) {
                next.extend(edges.get(module).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        edges.keys().map(|module| (module, reach(module))).collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (module, all) in &reached {
        let circle: Vec<String> = all
            .iter()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(*module)))
            .cloned()
            .collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> Module {
        path.split("::").map(String::from).collect()
    }

    #[test]
    fn a_use_of_several_is_each_of_them() {
        let found = paths("use crate::a::{self, b::C, d::{E, F}};\nuse super::g;\nlet x = other_crate::h;");
        let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
        for expected in ["crate::a::self", "crate::a::b::C", "crate::a::d::E", "crate::a::d::F", "super::g"] {
            assert!(found.contains(&expected.to_string()), "{expected} of {found:?}");
        }
    }

    #[test]
    fn siblings_that_use_each_other_are_a_circle_and_a_parent_that_uses_its_children_is_none() {
        let names = [module("a"), module("a::x"), module("b"), module("c")];
        let uses = BTreeMap::from([
            (names[0].clone(), BTreeSet::from([names[1].clone()])),
            (names[1].clone(), BTreeSet::from([names[0].clone(), names[2].clone()])),
            (names[2].clone(), BTreeSet::from([names[3].clone()])),
            (names[3].clone(), BTreeSet::from([names[0].clone()])),
        ]);
        let edges = sibling_edges(&uses);
        assert_eq!(edges.len(), 1, "{edges:?}");
        assert_eq!(circles(&edges[&Module::new()]), [vec!["a".to_string(), "b".into(), "c".into()]]);
    }
}
