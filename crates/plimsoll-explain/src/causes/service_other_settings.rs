//! `service.other_settings`: A program runs with other settings.

use plimsoll_model::cause::Cause;

use super::{Definition, Known, Page, by_settings};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "all runs of the worse side have a setting that no run of the better side has: an environment variable, a library, a limit, a mount option, a sysctl, an argument. Nothing else explains the difference",
        evidence_against: "both sides run with the same settings. Another cause is named, which the setting has nothing to do with",
        test: "give the worse side the setting of the better one, and measure again",
        remedy: "look up what the setting does, and why it was changed",
    },
    find,
)
.where_nothing_else_fits()
.beyond_the_run();

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_settings::named(&by_settings::differences(known)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_model::cause::CauseId;

    use super::super::SETTING;
    use super::super::fixture::{grew, ids};

    #[test]
    fn a_setting_that_only_the_worse_side_has_is_named_where_nothing_else_is() {
        let of = |what: &str, before, after| ids(&[grew("here", &format!("{SETTING}{what}"), before, after)]);
        assert_eq!(of("web: MALLOC_PERTURB_=9", 0.0, 100.0), [CauseId::ServiceOtherSettings]);
        assert_eq!(of("files: mount option noatime", 100.0, 0.0), [CauseId::ServiceOtherSettings]);
        assert!(of("curl: argument /tmp/list2", 0.0, 100.0).is_empty(), "each side has its own files");
        assert!(ids(&[grew("here", "files.open_share of /etc/hosts (level)", 90.0, 100.0)]).is_empty());
    }
}
