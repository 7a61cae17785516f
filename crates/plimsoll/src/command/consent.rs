//! Consent that an experiment needs, which depends on who wrote the file.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use plimsoll_model::effect::{Consent, Effect};
use plimsoll_model::plan::{Plan, Settings};
use plimsoll_store::RunEntry;

use super::show;
use crate::args::PlanArgs;
use crate::effects::Listing;
use crate::failure::Failure;
use crate::included;
use crate::shipped::{self, Source};

/// Effects of a plan that comes from a file, with the settings of the command line. An experiment that comes with Plimsoll needs no consent,
/// nor do paths in the folder of the file.
pub(crate) fn of_file(plan: &Plan, source: &Source) -> Vec<Effect> {
    let mut effects = plan.effects();
    effects.extend(included::effects(plan));
    settled(effects, source)
}

/// Effects of a plan that comes from a file, with those that only its quick settings have.
pub(crate) fn with_quick(plan: &Plan, source: &Source, args: &PlanArgs) -> Result<Listing, Failure> {
    if args.quick || plan.experiment.quick.is_empty() {
        return Ok(Listing::new(of_file(plan, source), &[plan]));
    }
    let args = PlanArgs { quick: true, ..args.clone() };
    let quick = super::with_files(super::plan_without_files(source, &args)?, source, &args)?;
    let mut effects = plan.effects_with_quick(&quick);
    let included = included::effects(plan);
    let more = included::effects(&quick).into_iter().filter(|effect| !included.contains(effect));
    effects.extend(more.map(|effect| Effect { quick: true, ..effect }));
    effects.extend(included.iter().cloned());
    Ok(Listing::new(settled(effects, source), &[plan, &quick]))
}

fn settled(mut effects: Vec<Effect>, source: &Source) -> Vec<Effect> {
    for effect in &mut effects {
        let is_own = || effect.path.as_deref().is_some_and(|path| is_below(Path::new(path), source.folder()));
        if source.area.is_some() || (effect.allow == Some(Consent::Files) && is_own()) {
            effect.allow = None;
        }
    }
    effects
}

/// Whether a path leads to a folder or below, through all symbolic links. What does not exist yet counts where it would be made.
fn is_below(path: &Path, folder: &Path) -> bool {
    let (Ok(path), Ok(folder)) = (std::path::absolute(path), folder.canonicalize()) else { return false };
    // A link that leads nowhere is there as well, and whatever is made behind it lies elsewhere.
    let there = path.ancestors().find(|part| part.symlink_metadata().is_ok());
    let whole = there.and_then(|part| Some((part.canonicalize().ok()?, path.strip_prefix(part).ok()?)));
    whole.is_some_and(|(there, rest)| {
        there.starts_with(folder) && !rest.components().any(|part| part == Component::ParentDir)
    })
}

/// Effects of a plan from a store, whose writer is unknown. Effects of a shipped experiment with the same text need no consent.
pub(crate) fn of_stored(plan: &Plan, entry: &RunEntry) -> Result<Vec<Effect>, Failure> {
    let mut known = BTreeSet::new();
    if let Some(source) = shipped::all().into_iter().find(|source| source.text == entry.source) {
        let (_, stored) = show::stored(entry)?;
        for quick in [false, true] {
            let plan = Plan::read(&source.name, &source.text, &Settings { quick, ..Settings::default() });
            let plan =
                plan.map_err(|error| Failure::File { name: source.origin.clone(), error: error.into() })?;
            known.extend(if stored.on_loopback { plan.on_loopback() } else { plan }.effects());
        }
    }
    let mut effects = plan.effects();
    effects.iter_mut().filter(|effect| known.contains(*effect)).for_each(|effect| effect.allow = None);
    Ok(effects)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::report::RunStatus;

    use super::*;
    use crate::args::ConsentArgs;
    use crate::effects::{ask, kinds};

    fn stored(source: &Source, args: &PlanArgs) -> Vec<Consent> {
        let entry = RunEntry {
            id: "stored".into(),
            experiment: source.name.clone(),
            source: source.text.clone(),
            settings: serde_json::to_value(args).unwrap(),
            seed: 1,
            started_unix_s: 0,
            elapsed: Duration::ZERO,
            status: RunStatus::Interrupted,
            notes: Vec::new(),
        };
        let plan = super::super::plan_without_files(source, args).unwrap();
        kinds(&of_stored(&plan, &entry).unwrap())
    }

    #[test]
    fn a_stored_run_needs_consent_for_what_the_shipped_experiment_of_its_text_does_not_do() {
        let source = shipped::find("mail/postfix").unwrap();
        let args = PlanArgs { quick: true, ..PlanArgs::default() };
        assert_eq!(stored(&source, &args), []);
        let set = vec!["run.min_trials=2".into()];
        assert_eq!(stored(&source, &PlanArgs { set, ..args.clone() }), []);
        let kernel = shipped::find("recovery/flood-relay").unwrap();
        let set = vec!["hosts.firewall.kernel=./bzImage".into()];
        assert_eq!(stored(&kernel, &PlanArgs { set, ..args.clone() }), [Consent::Privileged]);
        let edited = Source { text: format!("# mine\n{}", source.text), ..source.clone() };
        assert_eq!(stored(&edited, &args), [Consent::Users, Consent::Machine]);
    }

    #[test]
    fn a_shipped_experiment_needs_no_consent_and_a_copy_of_it_does() {
        let source = shipped::find("mail/postfix").unwrap();
        let args = PlanArgs { set: vec!["hosts.relay.memory=1G".into()], ..PlanArgs::default() };
        let plan = super::super::plan_without_files(&source, &args).unwrap();
        assert_eq!(kinds(&of_file(&plan, &source)), []);
        let copy = Source { area: None, origin: "copy.toml".into(), ..source };
        assert_eq!(kinds(&of_file(&plan, &copy)), [Consent::Users, Consent::Machine]);
    }

    #[test]
    fn what_was_allowed_is_not_asked_about_and_the_rest_is_named() {
        let source = shipped::find("mail/postfix").unwrap();
        let copy = Source { area: None, origin: "copy.toml".into(), ..source };
        let plan = super::super::plan_without_files(&copy, &PlanArgs::default()).unwrap();
        let effects = of_file(&plan, &copy);
        let all = vec![Consent::Users, Consent::Machine];
        let given = |allow: &[Consent], yes| ConsentArgs { allow: allow.to_vec(), yes };
        assert_eq!(ask(&effects, &given(&all, false)).unwrap(), all);
        assert_eq!(ask(&effects, &given(&[], true)).unwrap(), all);
    }
}
