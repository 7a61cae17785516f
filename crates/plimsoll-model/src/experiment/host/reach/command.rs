//! By any program that gives a pipe to an agent.

use crate::effect::word;

pub(super) fn describe(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|one| word(one)).collect();
    format!("reached by {}", words.join(" "))
}

pub(super) fn objection(command: &[String]) -> Option<(String, &'static str)> {
    const EXPECTED: &str = "a program and its arguments, such as [\"docker\", \"exec\", \"-i\", \"box\", \"plimsoll\", \"agent\"]";
    let nothing = command.first().is_none_or(|program| program.trim().is_empty());
    if nothing {
        return Some(("this starts no program".into(), EXPECTED));
    }
    command.iter().any(|one| one.contains('\0')).then(|| ("an argument has a zero byte".into(), EXPECTED))
}
