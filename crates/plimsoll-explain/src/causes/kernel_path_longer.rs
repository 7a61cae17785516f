//! `kernel.path_longer`: The kernel needs more CPU time per operation, in a function that no other cause covers.

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::observation::FrameKind;

use super::{Definition, Known, Page, by_functions, by_meaning, cause};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "the kernel's CPU time per operation grew, mostly in one named function",
        evidence_against: "the program uses the additional time, or it is spread over many functions",
        test: "undo the change between the two sides (a kernel, a module, a setting) and measure again",
        remedy: "find the callers of the named function in the profile, and what it iterates over",
    },
    find,
)
.where_nothing_else_fits()
.beyond_the_run();

/// From this share of what was added on it is this function.
const LEAST_SHARE: f64 = 0.6;

fn find(known: &Known<'_>) -> Vec<Cause> {
    let Some(profile) = known.profile.filter(|profile| profile.tells()) else { return Vec::new() };
    let Some(function) = profile.narrowest.as_ref().filter(|it| it.kind == FrameKind::Kernel) else {
        return Vec::new();
    };
    if function.share < LEAST_SHARE || !known.is_explained_by(function.after_us - function.before_us) {
        return Vec::new();
    }
    let does = by_meaning::of_kernel(profile).map(|it| format!(": {it}")).unwrap_or_default();
    let id = CauseId::KernelPathLonger;
    let title = format!("{}, in `{}`{does}", id.title(), function.function);
    vec![Cause { title, ..cause(id, 0.55, vec![by_functions::function_evidence(function, &profile.per)]) }]
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{GrownFunction, ProfileReport};

    use super::super::fixture::profile;
    use super::super::named;
    use super::*;

    #[test]
    fn a_function_of_the_kernel_that_is_in_no_list_is_named_all_the_same() {
        let of = |kind, share| {
            let narrowest = GrownFunction {
                function: "walk_something".into(),
                was: None,
                kind,
                before_us: 1.0,
                after_us: 90.0,
                share,
                owner: vec!["relay".into()],
                called_by: Vec::new(),
            };
            let profile = ProfileReport { grew: true, narrowest: Some(narrowest), ..profile() };
            named(&Known { profile: Some(&profile), ..Known::default() })
        };
        let causes = of(FrameKind::Kernel, 0.9);
        assert_eq!(causes[0].id, CauseId::KernelPathLonger);
        assert!(causes[0].evidence[0].metric.contains("walk_something"));
        assert!(of(FrameKind::User, 0.9).is_empty() && of(FrameKind::Kernel, 0.3).is_empty());
    }
}
