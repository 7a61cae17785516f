//! Postfix as a service.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LARGEST_MESSAGE, ServiceKind, ServicePlace, ServiceType, check_queue, check_retry};
use crate::effect::{AsWhom, Effect, word};
use crate::experiment::problem::{Checked, Part, declared, in_range, problem};
use crate::units::{ByteSize, Span};

/// Postfix (postfix.org) as a relay: it stores each message in its queue and forwards it. It needs root.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostfixService {
    /// The service that it forwards messages to.
    pub to: String,
    /// A folder on the host for the queue; by default one beside the other files of services, which is in memory. It is made when it is
    /// not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The volume of the same host that the queue lies on, in a folder of the service's own, by name. Give this or `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// The most processes of each kind, and so the most sessions at a time on either side (`default_process_limit`, 1 to 2000).
    #[serde(default = "PostfixService::default_processes")]
    pub processes: u32,
    /// How often deferred messages are looked at (`queue_run_delay`), and, at least every 300 s, incoming ones that were put off.
    #[serde(default = "PostfixService::default_queue_run")]
    pub queue_run: Span,
    /// How long a message waits after its first failed delivery (`minimal_backoff_time`), and all mail after Postfix could not reach a
    /// delivery process of its own (`transport_retry_time`).
    #[serde(default = "PostfixService::default_retry")]
    pub retry: Span,
    /// The longest that a message waits between two attempts (`maximal_backoff_time`).
    #[serde(default = "PostfixService::default_retry_most")]
    pub retry_most: Span,
    /// The longest message that it takes (`message_size_limit`).
    #[serde(default = "PostfixService::default_max_message")]
    pub max_message: ByteSize,
    /// Further settings of main.cf, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

impl PostfixService {
    fn default_processes() -> u32 {
        100
    }
    fn default_queue_run() -> Span {
        Span::secs(300)
    }
    fn default_retry() -> Span {
        Span::secs(300)
    }
    fn default_retry_most() -> Span {
        Span::secs(4000)
    }
    fn default_max_message() -> ByteSize {
        ByteSize(64 << 20)
    }
}

/// The endings of names that say where Postfix finds its programs, libraries, tables and files, or what it starts.
const ENDINGS: [&str; 14] = [
    "_directory",
    "_directories",
    "_path",
    "_command",
    "_commands",
    "_program",
    "_wrapper",
    "_file",
    "_files",
    "_maps",
    "_checks",
    "_database",
    "_environment",
    "_CAfile",
];

/// Whether a setting says which programs or files Postfix uses.
fn names_programs(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending)) || name.starts_with("multi_instance")
}

/// The programs of Postfix that touch a message that is relayed, and the one that starts them (master(5)).
const DAEMONS: [&str; 9] =
    ["master", "smtpd", "cleanup", "qmgr", "smtp", "trivial-rewrite", "bounce", "pickup", "scache"];

impl ServiceType for PostfixService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        let here = |key: &str| path!["services", at.name, "postfix", key];
        declared(&self.to, &at.experiment.services, "service", here("to"))?;
        in_range(u64::from(self.processes), 1, 2000, here("processes"))?;
        in_range(self.max_message.0, 1, LARGEST_MESSAGE, here("max_message"))?;
        check_retry(self.retry, self.retry_most, here("retry"))?;
        check_queue(at, self.queue.as_deref(), self.volume.as_deref(), here)?;
        for (setting, value) in &self.settings {
            let word = !setting.is_empty() && setting.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !word || value.contains('\n') {
                let here = [here("settings").as_slice(), &path![setting]].concat();
                return Err(problem(here, "this cannot stand in main.cf", "a name and a value of one line"));
            }
            if names_programs(setting) && !at.service.privileged {
                let here = [here("settings").as_slice(), &path![setting]].concat();
                let message = format!("`{setting}` says which programs or files Postfix uses as root");
                return Err(problem(here, message, "`privileged = true` on the service beside it"));
            }
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("Postfix, relaying to {}", self.to)
    }

    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect> {
        let whom = if at.service.privileged { AsWhom::Caller } else { AsWhom::SeveralUsers };
        let mut what = "Postfix".to_owned();
        for (setting, value) in &self.settings {
            what += &format!(" -o {}", word(&format!("{setting}={value}")));
        }
        let started = at.program("postfix", &what, whom).needs_root();
        [Some(started), at.queue("postfix", self.queue.as_deref())].into_iter().flatten().collect()
    }

    fn onward(&self) -> Option<&str> {
        Some(&self.to)
    }

    fn volume(&self) -> Option<&str> {
        self.volume.as_deref()
    }

    fn with_queue_in(&self, folder: String) -> Option<ServiceKind> {
        Some(Self { queue: Some(folder), ..self.clone() }.into())
    }

    fn programs(&self) -> Vec<&str> {
        DAEMONS.to_vec()
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

#[cfg(test)]
mod tests {
    use super::names_programs;

    #[test]
    fn settings_that_name_programs_and_files_are_told_from_others() {
        for name in [
            "daemon_directory",
            "debugger_command",
            "shlib_directory",
            "sendmail_path",
            "import_environment",
            "transport_maps",
            "smtp_tls_key_file",
        ] {
            assert!(names_programs(name), "{name}");
        }
        for name in ["in_flow_delay", "qmgr_message_active_limit", "smtp_connection_cache_on_demand"] {
            assert!(!names_programs(name), "{name}");
        }
    }
}
