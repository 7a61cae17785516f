//! Version of a real program, from its own output.

use std::process::{Command, Stdio};

use plimsoll_model::experiment::{Service, ServiceKind};
use plimsoll_model::report::ProgramVersion;

use crate::exec;

/// Program of a service, and its version; `None` for built-in services and missing programs. A command of the user's own is named without
/// its version: running it could do anything.
pub fn program_version(service: &Service) -> Option<ProgramVersion> {
    if let ServiceKind::Exec(exec) = &service.kind {
        let program = exec::find(exec.argv.first()?)?;
        return Some(ProgramVersion { path: program.display().to_string(), version: None });
    }
    let asked = super::of(&service.kind)?.about().version;
    let program = asked.0.iter().find_map(|name| exec::find(name))?;
    let answer = Command::new(&program).args(asked.1.split(' ')).stdin(Stdio::null()).output().ok();
    let version = answer.filter(|answer| answer.status.success()).and_then(|answer| {
        let all = [answer.stdout, answer.stderr].concat();
        version_in(&String::from_utf8_lossy(&all))
    });
    Some(ProgramVersion { path: program.display().to_string(), version })
}

/// First word with a digit and a dot in the first line of the output, without the part before its slash.
fn version_in(answer: &str) -> Option<String> {
    let line = answer.lines().find(|line| !line.trim().is_empty())?;
    let numbered = |word: &&str| word.contains('.') && word.contains(|c: char| c.is_ascii_digit());
    let word = line.split_whitespace().find(numbered)?;
    Some(word.rsplit('/').next().unwrap_or(word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_answer() {
        let answers = [
            ("nginx version: nginx/1.22.1\n", "1.22.1"),
            ("HAProxy version 2.6.12-1+deb12u2 2025/04/16 - https://haproxy.org/\n", "2.6.12-1+deb12u2"),
            ("Server version: Apache/2.4.62 (Debian)\nServer built:   2024-10-04\n", "2.4.62"),
            ("\n3.7.11\n", "3.7.11"),
        ];
        for (answer, version) in answers {
            assert_eq!(version_in(answer).as_deref(), Some(version));
        }
        assert_eq!(version_in("usage: it [-v]\n"), None);
    }

    #[test]
    fn a_command_of_the_users_own_is_named_and_not_run() {
        let service = |toml: &str| -> Service { serde_json::from_str(toml).unwrap() };
        let own = program_version(&service(r#"{ "on": "a", "exec": ["sh", "-c", "exit 1"] }"#)).unwrap();
        assert!(own.path.ends_with("/sh") && own.version.is_none(), "{own:?}");
        assert_eq!(program_version(&service(r#"{ "on": "a", "web": {} }"#)), None);
    }
}
