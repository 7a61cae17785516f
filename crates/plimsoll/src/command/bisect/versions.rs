//! The versions that are searched, in their order, from the good one to the bad one.

use std::path::Path;

use super::Version;
use crate::args::BisectArgs;
use crate::bounded;
use crate::failure::Failure;
use crate::repository::{Commit, Repository};

/// The versions that the arguments name, and the repository where they are commits.
pub(super) fn of(args: &BisectArgs) -> Result<(Vec<Version>, Option<Repository>), Failure> {
    if let Some(path) = &args.versions {
        let list = read_list(path)?;
        let mut versions = between(&list, args.good.as_deref(), args.bad.as_deref(), path)?;
        if args.experiment.is_some() {
            versions.iter_mut().for_each(label);
        }
        return Ok((versions, None));
    }
    let (Some(path), Some(good)) = (&args.git, &args.good) else {
        return Err(Failure::Usage("--git needs --good".into()));
    };
    let repository = Repository::open(path)?;
    let commits = repository.commits(good, args.bad.as_deref().unwrap_or("HEAD"))?;
    let version =
        |Commit { hash, short, subject }| Version { name: hash, label: short, about: Some(subject) };
    Ok((commits.into_iter().map(version).collect(), Some(repository)))
}

fn read_list(path: &Path) -> Result<Vec<String>, Failure> {
    let text = bounded::text(path, bounded::FILE)
        .map_err(|error| Failure::Usage(format!("--versions: cannot read {}: {error}", path.display())))?;
    Ok(lines(&text))
}

/// A version of an experiment may be settings behind a label.
fn label(version: &mut Version) {
    if let Some((label, settings)) = version.name.split_once(": ") {
        (version.label, version.about) = (label.to_owned(), Some(settings.to_owned()));
    }
}

/// One version per line; empty lines and comments (`#`) do not count.
fn lines(text: &str) -> Vec<String> {
    let named = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    named.map(ToOwned::to_owned).collect()
}

/// The part of a list from the good version to the bad one.
fn between(
    list: &[String],
    good: Option<&str>,
    bad: Option<&str>,
    path: &Path,
) -> Result<Vec<Version>, Failure> {
    let place = |option: &str, name: &str| {
        let mut places =
            list.iter().enumerate().filter(|(_, version)| *version == name).map(|(place, _)| place);
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (None, _) => {
                Err(Failure::Usage(format!("{option} {name}: there is no such line in {}", path.display())))
            }
            (Some(_), Some(_)) => {
                Err(Failure::Usage(format!("{option} {name} appears twice in {}", path.display())))
            }
        }
    };
    let first = good.map_or(Ok(0), |good| place("--good", good))?;
    let last = bad.map_or(Ok(list.len().saturating_sub(1)), |bad| place("--bad", bad))?;
    if first >= last {
        return Err(Failure::Usage(match (good, bad) {
            (Some(good), Some(bad)) => {
                format!("--bad {bad} does not come after --good {good} in {}", path.display())
            }
            _ => format!("{} names no version after the good one", path.display()),
        }));
    }
    let version = |name: &String| Version { name: name.clone(), label: name.clone(), about: None };
    Ok(list[first..=last].iter().map(version).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(good: Option<&str>, bad: Option<&str>) -> Result<Vec<String>, String> {
        let list = lines("# releases\nv1\n\n v2 \nv3\nv4\n");
        match between(&list, good, bad, Path::new("list")) {
            Ok(versions) => Ok(versions.into_iter().map(|version| version.name).collect()),
            Err(Failure::Usage(text)) => Err(text),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_part_between_the_ends_is_searched() {
        assert_eq!(names(None, None).unwrap(), ["v1", "v2", "v3", "v4"]);
        assert_eq!(names(Some("v2"), Some("v3")).unwrap(), ["v2", "v3"]);
    }

    #[test]
    fn ends_that_are_missing_or_in_the_wrong_order_are_named() {
        assert!(names(Some("v9"), None).unwrap_err().contains("--good v9: there is no such line"));
        assert!(
            names(Some("v3"), Some("v2")).unwrap_err().contains("--bad v2 does not come after --good v3")
        );
        assert!(names(Some("v4"), None).unwrap_err().contains("no version after the good one"));
    }
}
