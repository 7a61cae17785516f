//! A program of the user's own as a service.

use super::{ServicePlace, ServiceType};
use crate::effect::word;
use crate::experiment::placeholder;
use crate::experiment::prelude::*;

/// A program of the user's own, and its arguments. The agent replaces `{port}`, `{address}`, `{to}` and `{scratch}` when it starts the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ExecService {
    /// The program and its arguments.
    pub argv: Vec<String>,
}

/// Placeholders in its words.
const PLACEHOLDERS: [&str; 5] = ["port", "address", "to", "scratch", "config"];

impl ServiceType for ExecService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        if self.argv.is_empty() {
            let here = path!["services", at.name, "exec"];
            return Err(problem(here, "the command is empty", "a program and its arguments"));
        }
        placeholder::check(&self.argv, &PLACEHOLDERS, path!["services", at.name, "exec"])
    }

    fn describe(&self) -> String {
        self.argv.iter().map(|argument| word(argument)).collect::<Vec<_>>().join(" ")
    }

    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect> {
        let whom = if at.service.privileged { RunAs::Caller } else { RunAs::Nobody };
        let variables = at.service.env.iter().map(|(name, value)| format!("{}={} ", word(name), word(value)));
        let what = variables.collect::<String>() + &self.describe();
        vec![at.program(&what, whom)]
    }

    fn programs(&self) -> Vec<&str> {
        let program = self.argv.first().map_or("", String::as_str);
        // A shell or a wrapper runs another program in its place: what stands behind the last `exec`.
        let replaced =
            self.argv.iter().filter_map(|word| word.rsplit_once("exec ")?.1.split_whitespace().next());
        std::iter::once(program).chain(replaced).map(|name| name.rsplit('/').next().unwrap_or(name)).collect()
    }

    fn takes_mail(&self) -> bool {
        true
    }

    fn keeps_files(&self) -> bool {
        true
    }

    fn may_be_privileged(&self) -> bool {
        true
    }
}
