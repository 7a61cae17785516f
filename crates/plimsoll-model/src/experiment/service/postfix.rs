//! Postfix as a service.

use super::{
    LARGEST_MESSAGE, ServiceKind, ServicePlace, ServiceType, check_configured, check_queue, check_retry,
};
use crate::effect::word;
use crate::experiment::prelude::*;

/// Postfix (postfix.org) as a relay: it stores each message in its queue and forwards it. It needs root.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostfixService {
    /// The service that it forwards messages to.
    pub to: String,
    /// A folder on the host for the queue; by default one beside the other files of services, which is in memory. It is made when it is
    /// not there.
    pub queue: Option<String>,
    /// The volume of the same host that the queue lies on, in a folder of the service's own, by name. Give this or `queue`.
    pub volume: Option<String>,
    /// The most processes of each kind, and so the most sessions at a time on either side (`default_process_limit`, 1 to 2000).
    #[serde(default = "crate::units::number::<100>")]
    pub processes: u32,
    /// How often deferred messages are looked at (`queue_run_delay`), and, at least every 300 s, incoming ones that were put off.
    #[serde(default = "Span::of_secs::<300>")]
    pub queue_run: Span,
    /// How long a message waits after its first failed delivery (`minimal_backoff_time`), and all mail after Postfix could not reach a
    /// delivery process of its own (`transport_retry_time`).
    #[serde(default = "Span::of_secs::<300>")]
    pub retry: Span,
    /// The longest that a message waits between two attempts (`maximal_backoff_time`).
    #[serde(default = "Span::of_secs::<4000>")]
    pub retry_most: Span,
    /// The longest message that it takes (`message_size_limit`).
    #[serde(default = "ByteSize::of_mib::<64>")]
    pub max_message: ByteSize,
    /// Further settings of main.cf, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// Value that a setting of main.cf takes.
#[derive(Clone, Copy)]
enum Value {
    /// A whole number of at most nine digits.
    Number,
    /// A whole number with at most one unit: s, m, h, d or w.
    Time,
    /// `yes` or `no`.
    Switch,
}

impl Value {
    fn accepts(self, text: &str) -> bool {
        let number = |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        match self {
            Self::Number => number(text),
            Self::Time => number(text.strip_suffix(['s', 'm', 'h', 'd', 'w']).unwrap_or(text)),
            Self::Switch => matches!(text, "yes" | "no"),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Number => "a whole number of at most nine digits",
            Self::Time => "a time such as 30s, 5m or 1h",
            Self::Switch => "yes or no",
        }
    }
}

/// Settings that an unprivileged file may give (postconf(5)). Postfix starts as root, so none of them names a program, a file, a table, a
/// user or an address.
const SETTINGS: [(&str, Value); 36] = [
    ("bounce_queue_lifetime", Value::Time),
    ("default_destination_concurrency_failed_cohort_limit", Value::Number),
    ("default_destination_concurrency_limit", Value::Number),
    ("default_destination_rate_delay", Value::Time),
    ("default_destination_recipient_limit", Value::Number),
    ("default_recipient_limit", Value::Number),
    ("delay_warning_time", Value::Time),
    ("disable_dns_lookups", Value::Switch),
    ("enable_long_queue_ids", Value::Switch),
    ("hopcount_limit", Value::Number),
    ("in_flow_delay", Value::Time),
    ("initial_destination_concurrency", Value::Number),
    ("ipc_idle", Value::Time),
    ("ipc_timeout", Value::Time),
    ("ipc_ttl", Value::Time),
    ("line_length_limit", Value::Number),
    ("max_idle", Value::Time),
    ("max_use", Value::Number),
    ("maximal_queue_lifetime", Value::Time),
    ("qmgr_message_active_limit", Value::Number),
    ("qmgr_message_recipient_limit", Value::Number),
    ("qmgr_message_recipient_minimum", Value::Number),
    ("queue_minfree", Value::Number),
    ("smtp_connect_timeout", Value::Time),
    ("smtp_connection_cache_on_demand", Value::Switch),
    ("smtp_connection_cache_time_limit", Value::Time),
    ("smtp_connection_reuse_count_limit", Value::Number),
    ("smtp_connection_reuse_time_limit", Value::Time),
    ("smtp_data_done_timeout", Value::Time),
    ("smtp_destination_concurrency_limit", Value::Number),
    ("smtp_destination_recipient_limit", Value::Number),
    ("smtp_helo_timeout", Value::Time),
    ("smtpd_delay_reject", Value::Switch),
    ("smtpd_error_sleep_time", Value::Time),
    ("smtpd_recipient_limit", Value::Number),
    ("smtpd_timeout", Value::Time),
];

/// Error in a setting of an unprivileged service: what is wrong, and what was expected.
fn refused(setting: &str, value: &str) -> Option<(String, String)> {
    match SETTINGS.iter().find(|(name, _)| *name == setting) {
        Some((_, kind)) if kind.accepts(value) => None,
        Some((_, kind)) => {
            Some((format!("`{value}` is no value of `{setting}`"), kind.expected().to_owned()))
        }
        None => {
            let names = SETTINGS.map(|(name, _)| name).join(", ");
            let message = format!("`{setting}` is not among the settings that a file may give Postfix");
            Some((message, format!("one of {names}; or `privileged = true` on the service beside it")))
        }
    }
}

/// The programs of Postfix that touch a message that is relayed, and the one that starts them (master(5)).
const DAEMONS: [&str; 9] =
    ["master", "smtpd", "cleanup", "qmgr", "smtp", "trivial-rewrite", "bounce", "pickup", "scache"];

impl ServiceType for PostfixService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        declared(&self.to, &at.experiment.services, "service", at.key("to"))?;
        in_range(u64::from(self.processes), 1, 2000, at.key("processes"))?;
        in_range(self.max_message.0, 1, LARGEST_MESSAGE, at.key("max_message"))?;
        check_retry(self.retry, self.retry_most, at.key("retry"))?;
        check_configured(self.queue.as_deref(), at.key("queue"))?;
        check_queue(at, self.queue.as_deref(), self.volume.as_deref())?;
        for (setting, value) in &self.settings {
            let word = !setting.is_empty() && setting.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !word || value.contains('\n') {
                let here = [at.key("settings").as_slice(), &path![setting]].concat();
                return Err(problem(here, "this cannot stand in main.cf", "a name and a value of one line"));
            }
            if let Some((message, expected)) = refused(setting, value).filter(|_| !at.service.privileged) {
                let here = [at.key("settings").as_slice(), &path![setting]].concat();
                return Err(problem(here, message, expected));
            }
        }
        if at.service.config.is_some() && !at.service.privileged {
            let message = "a configuration file of Postfix can start any program as root";
            let here = path!["services", at.name, "config"];
            return Err(problem(here, message, "`privileged = true` on the service beside it"));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("Postfix, relaying to {}", self.to)
    }

    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect> {
        let whom = if at.service.privileged { RunAs::Caller } else { RunAs::SeveralUsers };
        let mut what = "Postfix".to_owned();
        for (setting, value) in &self.settings {
            what += &format!(" -o {}", word(&format!("{setting}={value}")));
        }
        let started = at.program(&what, whom).needs_root();
        [Some(started), at.queue(self.queue.as_deref())].into_iter().flatten().collect()
    }

    relays_mail!();

    fn programs(&self) -> Vec<&str> {
        DAEMONS.to_vec()
    }

    fn may_be_privileged(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn settings_that_name_programs_files_tables_and_users_are_refused() {
        for (name, value) in [
            ("daemon_directory", "/tmp/mine"),
            ("mail_owner", "root"),
            ("mydestination", "/etc/shadow"),
            ("mynetworks", "regexp:/etc/shadow"),
            ("smtpd_recipient_restrictions", "check_recipient_access regexp:/etc/shadow"),
            ("import_environment", "LD_PRELOAD=/tmp/mine.so"),
            ("relayhost", "10.0.0.1"),
        ] {
            let (message, expected) = refused(name, value).expect(name);
            assert!(message.contains(name), "{message}");
            assert!(expected.contains("in_flow_delay") && expected.contains("privileged"), "{expected}");
        }
    }

    #[test]
    fn values_of_allowed_settings_are_numbers_times_and_switches() {
        for (name, value) in [
            ("in_flow_delay", "1s"),
            ("ipc_ttl", "1000"),
            ("qmgr_message_active_limit", "20000"),
            ("smtp_connection_cache_on_demand", "no"),
        ] {
            assert_eq!(refused(name, value), None);
        }
        for (name, value) in [
            ("in_flow_delay", "$config_directory"),
            ("in_flow_delay", "s"),
            ("in_flow_delay", "1ss"),
            ("qmgr_message_active_limit", "regexp:/etc/shadow"),
            ("qmgr_message_active_limit", "1234567890"),
            ("smtp_connection_cache_on_demand", ""),
        ] {
            let (message, _) = refused(name, value).expect(value);
            assert!(message.contains(name), "{message}");
        }
    }
}
