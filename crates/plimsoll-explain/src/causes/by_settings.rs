//! Settings that differ between the two sides: what an engineer looks at first. They stand beside the causes that they belong to. One that belongs to
//! none is named by itself.

use std::collections::BTreeMap;

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::observation::program_of;
use plimsoll_model::report::Evidence;

use super::{Known, OPEN_SHARE, SETTING, cause};

const ID: CauseId = CauseId::ServiceOtherSettings;
/// Whose settings those of file systems, and those of the machine and its network namespaces are.
const FILES: &str = "files";
const MACHINE: &str = "machine";
/// Whose settings the programs are that a command starts, and what they begin with.
const COMMAND: &str = "command";
const PROGRAM: &str = "program ";
/// What arguments begin with. Two commands that differ usually have other ones, as names of files.
const ARGUMENT: &str = "argument ";
/// What stands before a file that only the worse side has open, and for which share of the looks at least, in per cent.
const OPEN: &str = "open file ";
const LEAST_OPEN: f64 = 10.0;
/// Settings that a side has or has not: no other value stands in their place.
const SINGLE: [&str; 8] =
    [PROGRAM, OPEN, ARGUMENT, "library ", "locale ", "mount option ", "resolv.conf ", "file system "];
/// Libraries of the system.
const COMMON: [&str; 2] = ["library /usr/lib/", "library /lib/"];
/// The most settings that a cause quotes.
const MOST: usize = 3;
/// The longest value of an option that is no name of a file.
const LONGEST_VALUE: usize = 16;
/// How sure a setting is that is named by itself, and beside other causes.
const ALONE: f64 = 0.45;
const BESIDE: f64 = 0.3;
/// Which causes settings of file systems, and those of the machine may lead to, by the beginnings of their ids.
const BY_FILES: [&str; 4] = ["disk.", "memory.", "cpu.kernel", "kernel."];
const BY_MACHINE: [&str; 6] = ["net.", "name.", "memory.", "disk.", "cpu.kernel", "kernel."];

/// A setting of one owner that the sides have with different values, or that only one of them has.
#[derive(Debug)]
pub(super) struct Difference {
    whose: String,
    before: Option<String>,
    after: Option<String>,
}

impl Difference {
    /// Whether it is a library of the system, which others bring along.
    fn is_common(&self) -> bool {
        self.after.as_ref().is_some_and(|it| COMMON.iter().any(|start| it.starts_with(start)))
    }

    fn is_argument(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().all(|it| it.starts_with(ARGUMENT))
    }

    /// Whether it is a file, or an argument that may name one: each run has its own.
    fn is_operand(&self) -> bool {
        if self.after.as_ref().is_some_and(|it| it.starts_with(OPEN)) {
            return true;
        }
        let is_option = |it: &String| {
            let text = it.strip_prefix(ARGUMENT).unwrap_or_default();
            let value = text.split([' ', '=']).nth(1).unwrap_or_default();
            text.starts_with('-') && value.len() <= LONGEST_VALUE && !value.contains('/')
        };
        self.is_argument() && ![&self.before, &self.after].into_iter().flatten().all(is_option)
    }

    /// The setting, with whose it is and what stands in its place on the better side.
    fn text(&self) -> String {
        let what = match (&self.before, &self.after) {
            (Some(before), Some(after)) => format!("{after} instead of {before}"),
            (None, Some(after)) => after.clone(),
            (Some(before), None) => format!("no {before}"),
            (None, None) => String::new(),
        };
        match self.whose.as_str() {
            FILES if what.starts_with(OPEN) => what,
            FILES => format!("{what} where its files are"),
            MACHINE => format!("{what} of the machine or its network"),
            COMMAND => format!("{what}, which the command starts"),
            program => format!("{what} of `{program}`"),
        }
    }

    fn evidence(&self) -> CauseEvidence {
        let [before, after] = if self.after.is_some() { [0.0, 100.0] } else { [100.0, 0.0] };
        let metric = match (&self.after, &self.before) {
            (None, Some(before)) => format!("{SETTING}{}: {before}", self.whose),
            _ => format!("setting: {}", self.text()),
        };
        CauseEvidence { metric, before, after, unit: "% of runs".to_owned() }
    }

    /// Whether it may have to do with a cause: its owner is named there, or it belongs to what the cause is about.
    fn concerns(&self, cause: &Cause) -> bool {
        let is_about = |starts: &[&str]| starts.iter().any(|start| cause.id.id().starts_with(start));
        match self.whose.as_str() {
            FILES => is_about(&BY_FILES),
            MACHINE => is_about(&BY_MACHINE),
            COMMAND => self.after.as_ref().is_some_and(|it| is_named(&it[PROGRAM.len()..], cause)),
            program => is_named(program, cause),
        }
    }
}

/// Whether a cause speaks of a program.
pub(super) fn is_named(program: &str, cause: &Cause) -> bool {
    let names = [format!("`{program}`"), format!("/{program} "), format!("{program} (")];
    let texts = std::iter::once(&cause.title).chain(cause.evidence.iter().map(|it| &it.metric));
    texts.into_iter().any(|text| names.iter().any(|name| text.contains(name)))
}

/// Whether only the worse side starts a program, and none of the better side is gone, whose work it might do.
pub(super) fn is_newcomer(known: &Known<'_>, process: &str) -> bool {
    let started = known.evidence.iter().filter_map(|it| {
        let program = it.metric.strip_prefix(SETTING)?.strip_prefix("command: program ")?;
        Some((program, it.after > it.before))
    });
    let (new, gone): (Vec<_>, Vec<_>) = started.partition(|(_, is_new)| *is_new);
    gone.is_empty() && new.iter().any(|(program, _)| *program == program_of(process))
}

/// What tells settings apart that may take each other's place.
fn name(what: &str) -> &str {
    let option = what.strip_prefix(ARGUMENT).filter(|it| it.starts_with('-'));
    let end = if let Some(option) = option {
        option.find(['=', ' ']).map(|end| end + ARGUMENT.len())
    } else if SINGLE.iter().any(|start| what.starts_with(start)) {
        None
    } else if what.starts_with("limit ") {
        what.rfind(' ')
    } else {
        what.find(['=', ' '])
    };
    end.map_or(what, |end| &what[..end])
}

/// Whose setting differs, and what it is.
fn setting(evidence: &Evidence) -> Option<(&str, String)> {
    let (whose, what) = evidence.metric.strip_prefix(SETTING)?.split_once(": ")?;
    Some((whose, what.to_owned()))
}

/// A file that the worse side has open, and the better one has not.
fn open_file(evidence: &Evidence) -> Option<(&'static str, String)> {
    let path = evidence.metric.strip_prefix(OPEN_SHARE)?.strip_suffix(" (level)")?;
    let is_new = evidence.before <= 0.0 && evidence.after >= LEAST_OPEN;
    is_new.then(|| (FILES, format!("{OPEN}{path}")))
}

/// The settings that differ, arguments and files last.
pub(super) fn differences(known: &Known<'_>) -> Vec<Difference> {
    let mut found: BTreeMap<(String, String), Difference> = BTreeMap::new();
    for evidence in known.evidence {
        let Some((whose, what)) = setting(evidence).or_else(|| open_file(evidence)) else { continue };
        let file = what.strip_prefix(OPEN).and_then(|path| path.rsplit('/').next());
        // A shell has the script open that it runs.
        if file.is_some_and(|file| known.measured.processes.iter().any(|it| program_of(it) == file)) {
            continue;
        }
        let key = (whose.to_owned(), name(&what).to_owned());
        let entry = found.entry(key).or_insert_with(|| Difference {
            whose: whose.to_owned(),
            before: None,
            after: None,
        });
        let side = if evidence.after > evidence.before { &mut entry.after } else { &mut entry.before };
        *side = Some(what);
    }
    let mut found: Vec<Difference> = found.into_values().collect();
    // Where one program is gone and another one has come, they may be versions of one.
    let has = |of: fn(&Difference) -> bool| found.iter().any(|it| it.whose == COMMAND && of(it));
    if has(|it| it.before.is_some()) && has(|it| it.after.is_some()) {
        found.retain(|it| it.whose != COMMAND);
    }
    // What the worse side has tells more than what it has not.
    found.sort_by_key(|it| {
        (it.is_operand(), it.is_argument(), it.after.is_none(), it.whose != COMMAND, it.is_common())
    });
    found
}

/// The cause that consists in these settings. Files, and arguments that may name one, are none: each side has its own.
pub(super) fn named(differences: &[Difference]) -> Option<Cause> {
    let mut settings = differences.iter().filter(|it| !it.is_operand()).take(MOST).peekable();
    let title = format!("{}: {}", ID.title(), settings.peek()?.text());
    Some(Cause { title, ..cause(ID, ALONE, settings.map(Difference::evidence).collect()) })
}

/// Adds settings to the causes that they may have to do with. What is left is less sure beside these.
pub(super) fn attach(known: &Known<'_>, causes: &mut Vec<Cause>) {
    let mut left = differences(known);
    causes.retain(|cause| cause.id != ID);
    for cause in &mut *causes {
        let own: Vec<CauseEvidence> =
            left.iter().filter(|it| it.concerns(cause)).take(MOST).map(Difference::evidence).collect();
        cause.evidence.extend(own);
    }
    // Another program, as a tracer, is worth its own name.
    left.retain(|it| it.whose == COMMAND || !causes.iter().any(|cause| it.concerns(cause)));
    if causes.is_empty() {
        causes.extend(named(&left));
        return;
    }
    causes.extend(named(&left).map(|cause| Cause { confidence: BESIDE, ..cause }));
}

#[cfg(test)]
mod tests {
    use super::super::fixture::grew;
    use super::*;

    fn attached(settings: &[(&str, f64, f64)], title: &str) -> Vec<Cause> {
        let of = |(what, before, after): &(&str, f64, f64)| {
            grew("here", &format!("{SETTING}{what}"), *before, *after)
        };
        let evidence: Vec<_> = settings.iter().map(of).collect();
        let mut causes =
            vec![Cause { title: title.to_owned(), ..cause(CauseId::CpuUserSaturated, 0.7, Vec::new()) }];
        attach(&Known { evidence: &evidence, ..Known::default() }, &mut causes);
        causes
    }

    #[test]
    fn a_setting_stands_beside_the_cause_of_its_program_with_the_value_that_it_replaces() {
        let settings = [("sort: LC_ALL=en_US.UTF-8", 0.0, 100.0), ("sort: LC_ALL=C", 100.0, 0.0)];
        let causes = attached(&settings, "A program uses up the CPUs: `[libc.so.6]` of `sort`");
        assert_eq!(causes.len(), 1);
        let metrics: Vec<&str> = causes[0].evidence.iter().map(|it| it.metric.as_str()).collect();
        assert_eq!(metrics, ["setting: LC_ALL=en_US.UTF-8 instead of LC_ALL=C of `sort`"]);
    }

    #[test]
    fn a_setting_of_something_else_is_a_cause_of_its_own_that_is_less_sure() {
        let settings =
            [("machine: net.ipv4.tcp_rmem 4096 16000 16000", 0.0, 100.0), ("sed: argument x", 0.0, 100.0)];
        let causes = attached(&settings, "A program uses up the CPUs: `main` of `sort`");
        assert_eq!((causes.len(), causes[1].id, causes[1].confidence), (2, ID, BESIDE));
        assert!(causes[1].title.contains("tcp_rmem 4096 16000 16000 of the machine"), "{}", causes[1].title);
        let beside = |what: &str| {
            attached(&[(what, 0.0, 100.0)], "A program uses up the CPUs: `main` of `sort`").len()
        };
        assert_eq!(
            (beside("sed: argument a.txt"), beside("make: argument -j 1")),
            (1, 2),
            "other files are no cause"
        );
    }

    #[test]
    fn a_program_that_only_one_side_starts_is_a_newcomer_unless_another_is_gone() {
        let of = |settings: &[(&str, f64, f64)]| {
            let evidence: Vec<_> = settings
                .iter()
                .map(|(what, before, after)| {
                    grew("here", &format!("{SETTING}command: program {what}"), *before, *after)
                })
                .collect();
            let known = Known { evidence: &evidence, ..Known::default() };
            (is_newcomer(&known, "perf (command)"), differences(&known).len())
        };
        assert_eq!(of(&[("perf", 0.0, 100.0)]), (true, 1));
        assert_eq!(of(&[("perf", 0.0, 100.0), ("image-a", 100.0, 0.0)]), (false, 0));
        assert_eq!(of(&[("perf", 100.0, 0.0)]), (false, 1));
    }

    #[test]
    fn values_of_one_setting_take_each_others_place_and_libraries_do_not() {
        for (what, expected) in [
            ("LC_ALL=C", "LC_ALL"),
            ("cpu.shares 20", "cpu.shares"),
            ("limit Max open files 256", "limit Max open files"),
            ("argument -S 300k", "argument -S"),
            ("argument --level=9", "argument --level"),
            ("argument a=b", "argument a=b"),
            ("library /x/liba.so", "library /x/liba.so"),
        ] {
            assert_eq!(name(what), expected);
        }
    }
}
