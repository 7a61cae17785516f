//! Versions of something in an experiment, such as its kernel: each measurement is a run of it.

use std::collections::BTreeSet;

use plimsoll_model::effect::Consent;
use plimsoll_model::experiment::{Experiment, Metric, parse};

use super::Version;
use crate::args::{BisectArgs, PlanArgs};
use crate::command::consent;
use crate::failure::Failure;
use crate::measure::{Gauge, Invocation};
use crate::shipped::{self, Source};
use crate::{command, effects};

/// The figure of the experiment that the arguments ask for.
pub(super) fn gauge(args: &BisectArgs) -> Result<Gauge, Failure> {
    let metric = args.phase_metric.as_deref().map(|name| {
        Metric::named(name).ok_or_else(|| {
            let known: Vec<&str> = Metric::all().map(Metric::name).collect();
            Failure::Usage(format!("--phase-metric {name}: expected one of {}", known.join(", ")))
        })
    });
    Ok(Gauge::Phase { phase: args.phase.clone(), metric: metric.transpose()? })
}

/// The measured command in words. Measurements of other words cannot be reused.
pub(super) fn words(experiment: &str, args: &BisectArgs) -> Vec<String> {
    // Whatever folder it runs in.
    let file = std::fs::canonicalize(experiment).ok().filter(|path| path.is_file());
    let experiment = file.map_or_else(|| experiment.to_owned(), |path| path.to_string_lossy().into_owned());
    let mut words = vec!["run".to_owned(), experiment];
    words.extend(args.quick.then(|| "--quick".to_owned()));
    // A figure is all that is looked at.
    words.extend(["--set", "run.profile=false"].map(ToOwned::to_owned));
    words.extend(args.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
    words
}

/// Which figure it is, in words.
pub(super) fn figure(args: &BisectArgs) -> Option<String> {
    let parts: Vec<&str> =
        [&args.phase, &args.phase_metric].into_iter().filter_map(|part| part.as_deref()).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The run for each version.
pub(super) fn commands(
    experiment: &str,
    args: &BisectArgs,
    versions: &[Version],
) -> Result<Vec<Invocation>, Failure> {
    let source = shipped::find(experiment)?;
    let read = parse(&source.text, &[]).map_err(|error| Failure::Usage(format!("{experiment}: {error}")))?;
    if !read.factors.is_empty() {
        return Err(Failure::Usage(format!(
            "{experiment} has factors: expected an experiment without factors, since a bisection varies only the version"
        )));
    }
    let program = std::env::current_exe()
        .map_err(|error| Failure::could_not(format!("cannot find the program itself: {error}")))?;
    let own = args.setting.clone().or_else(|| only_kernel(&read));
    let fixed = words(experiment, args);
    let own = |version: &Version| match args.git {
        // A commit runs in its own working tree.
        Some(_) => Ok(Vec::new()),
        None => settings(&version.name, own.as_deref()),
    };
    let settings: Vec<Vec<String>> = versions.iter().map(own).collect::<Result<_, _>>()?;
    let allowed = allowed(&source, args, &settings)?;
    let command = |settings: Vec<String>| {
        let mut words = vec!["plimsoll".to_owned()];
        words.extend(fixed.iter().cloned());
        words.extend(settings.into_iter().flat_map(|set| ["--set".to_owned(), set]));
        words.extend(["--format", "json"].map(ToOwned::to_owned));
        words.extend(allowed.iter().flat_map(|kind| ["--allow", kind.name()]).map(ToOwned::to_owned));
        Invocation::Words { program: program.clone(), words }
    };
    Ok(settings.into_iter().map(command).collect())
}

/// Asks once for the effects of all versions. Each run gets this consent and no more.
fn allowed(source: &Source, args: &BisectArgs, settings: &[Vec<String>]) -> Result<Vec<Consent>, Failure> {
    let mut all = BTreeSet::new();
    for settings in settings {
        let set = args.set.iter().chain(settings).cloned().collect();
        let plan_args = PlanArgs { quick: args.quick, set, ..PlanArgs::default() };
        // A version whose settings cannot be used is left out when its run says so.
        let Ok(plan) = command::plan_without_files(source, &plan_args) else { continue };
        all.extend(consent::of_file(&plan, source));
    }
    effects::ask(&all.into_iter().collect::<Vec<_>>(), &args.consent)
}

/// Settings of a line of versions: settings of its own behind a label, or a value of the one that differs.
fn settings(line: &str, own: Option<&str>) -> Result<Vec<String>, Failure> {
    // A package or a path has no blank behind its colon.
    if let Some((_, settings)) = line.split_once(": ") {
        let settings: Vec<String> = settings.split(';').map(|set| set.trim().to_owned()).collect();
        return match settings.iter().find(|set| !set.contains('=')) {
            Some(set) => {
                Err(Failure::Usage(format!("the version `{line}`: expected KEY=VALUE, found `{set}`")))
            }
            None => Ok(settings),
        };
    }
    let Some(own) = own else {
        return Err(Failure::Usage(format!(
            "the version `{line}`: expected --setting KEY, since no single host of the experiment has a kernel, or a line of the form `LABEL: KEY=VALUE`"
        )));
    };
    Ok(vec![format!("{own}={line}")])
}

/// The key of the only kernel of an experiment.
fn only_kernel(experiment: &Experiment) -> Option<String> {
    let mut with = experiment.hosts.iter().filter(|(_, host)| host.kernel.is_some());
    let (name, _) = with.next()?;
    with.next().is_none().then(|| format!("hosts.{name}.kernel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_value_or_settings_behind_a_label() {
        let own = Some("hosts.box.kernel");
        assert_eq!(settings("debian:6.1", own).unwrap(), ["hosts.box.kernel=debian:6.1"]);
        let labelled =
            settings("with: hosts.box.append=init_on_alloc=1 quiet; hosts.box.memory=1G", own).unwrap();
        assert_eq!(labelled, ["hosts.box.append=init_on_alloc=1 quiet", "hosts.box.memory=1G"]);
        assert!(
            matches!(settings("with: nothing", own), Err(Failure::Usage(text)) if text.contains("found `nothing`"))
        );
        assert!(matches!(settings("6.1", None), Err(Failure::Usage(text)) if text.contains("--setting KEY")));
    }

    #[test]
    fn the_only_kernel_is_what_versions_stand_for() {
        let of = |name: &str| only_kernel(&parse(&shipped::find(name).unwrap().text, &[]).unwrap());
        assert_eq!(of("kernel/path").as_deref(), Some("hosts.box.kernel"));
        assert_eq!(of("kernel/two-by-two"), None, "two hosts have one");
        assert_eq!(of("recovery/flood-relay"), None);
    }
}
