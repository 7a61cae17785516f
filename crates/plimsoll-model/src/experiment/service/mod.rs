//! Services: what is under test, or in its way.
//!
//! A service is written as a table with one key for its kind. What is asked of every kind is `ServiceType`; each answers in its own file.

/// Methods of a relay for mail, which keeps what it has taken in a queue until it is delivered.
macro_rules! relays_mail {
    () => {
        fn onward(&self) -> Option<&str> {
            Some(&self.to)
        }

        fn volume(&self) -> Option<&str> {
            self.volume.as_deref()
        }

        fn with_queue_in(&self, folder: String) -> Option<ServiceKind> {
            Some(Self { queue: Some(folder), ..self.clone() }.into())
        }

        fn takes_mail(&self) -> bool {
            true
        }

        fn keeps_files(&self) -> bool {
            true
        }
    };
}

mod bulk;
mod exec;
mod mail_relay;
mod relay;
mod running;
mod smtp_sink;
mod tcp_proxy;
pub mod template;
mod web;

use std::collections::BTreeMap;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

pub use self::bulk::{BulkService, Take};
pub use self::exec::ExecService;
pub use self::mail_relay::{Durability, MailRelayService};
pub use self::relay::{Leak, RelayService};
pub use self::running::RunningService;
pub use self::smtp_sink::{Outage, SmtpSinkService};
pub use self::tcp_proxy::{PassBy, TcpProxyService};
pub use self::web::{WebModel, WebService};
use super::problem::{Checked, Part, declared, problem};
use super::{Experiment, SysctlValue};
use crate::certificate::CertificateFile;
use crate::effect::{Consent, Effect, EffectKind, RunAs, word};
use crate::units::Span;

/// The list of all server programs that Plimsoll knows how to configure, handed to a macro of one's own: what has to know them all is made
/// from it.
#[macro_export]
macro_rules! each_program {
    ($then:ident) => {
        $then! {
            /// nginx.
            nginx: Nginx(NginxService),
            /// HAProxy.
            haproxy: Haproxy(HaproxyService),
            /// Apache httpd, prefork.
            apache: Apache(ApacheService),
            /// Postfix, relaying.
            postfix: Postfix(PostfixService),
        }
    };
}

/// The modules of the programs, what a service is, and the service as a file has it.
macro_rules! define {
    ($($(#[$of_program:meta])* $key:ident: $kind:ident($type:ident),)+) => {
        $(mod $key;)+

        $(pub use self::$key::*;)+

        kinds! {
            /// Kind of a service.
            pub enum ServiceKind, a table that is "the service", each a dyn ServiceType {
                /// The built-in web server.
                web: Web(WebService),
                /// The built-in forking relay.
                relay: Relay(RelayService),
                /// The built-in end of bulk loads.
                bulk: Bulk(BulkService),
                /// The built-in proxy for TCP: one process that passes bytes on.
                tcp_proxy: TcpProxy(TcpProxyService),
                /// The built-in sink for mail.
                smtp_sink: SmtpSink(SmtpSinkService),
                /// The built-in relay for mail: it stores before it forwards.
                mail_relay: MailRelay(MailRelayService),
                $($(#[$of_program])* $key: $kind($type),)+
                /// A server that runs already, on a host that `reach` leads to; it listens on `port`.
                running: Running(RunningService),
                /// A program of your own and its arguments. `{port}`, `{address}`, `{to}` and `{scratch}`, a folder that it may write to, are replaced.
                exec: Exec(ExecService),
            }

            /// A service on a host. Exactly one of the kinds is given.
            pub struct Service, read as ServiceTable {
                /// The host that it runs on.
                pub on: String,
                /// The first port that it listens on (1 to 65535); by default one is chosen.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub port: Option<u16>,
                /// How to know that it is ready.
                #[serde(default)]
                pub ready: Ready,
                /// Environment variables for `exec`, beside `PATH`, `HOME`, `TMPDIR`, `TZ` and those of the language.
                #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
                pub env: BTreeMap<String, String>,
                /// Variables of the environment in which Plimsoll was started that `exec` gets, too, by name.
                #[serde(default, skip_serializing_if = "Vec::is_empty")]
                pub pass_env: Vec<String>,
                /// Whether the program (`exec`, `nginx`, `haproxy`, `apache` or `postfix`) keeps the caller's rights: root is then root on
                /// its host and may write to the files of the machine. `run` asks before it starts such a file, or wants `--allow privileged`.
                #[serde(default, skip_serializing_if = "std::ops::Not::not")]
                pub privileged: bool,
                /// A configuration file of the program's own, in place of the one that Plimsoll makes. It is a template, in which `{{port}}`,
                /// `{{address}}`, `{{to}}`, `{{to.address}}`, `{{to.port}}`, `{{peers.NAME}}` (and `.address`, `.port`), `{{scratch}}` and
                /// `{{values.NAME}}` are replaced. A relative path counts from the folder of the experiment file. Beside `exec`, `{config}` in the
                /// command is replaced by where it lies.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub config: Option<String>,
                /// Values of `{{values.NAME}}` in the configuration file: numbers or texts. Each can be a factor (`services.NAME.values.NAME`).
                #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
                pub values: BTreeMap<String, SysctlValue>,
                /// Further services that the configuration file names; they are started before.
                #[serde(default, skip_serializing_if = "Vec::is_empty")]
                pub peers: Vec<String>,
                /// The text of the configuration file, once it was read.
                #[serde(skip)]
                pub template: Option<String>,
                /// The service that `{to}` in `exec`, and `{{to}}` in a configuration file, stands for.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub to: Option<String>,
            }
        }
    };
}

each_program!(define);

/// The environment variable that holds the name of a service, in each of its processes and whatever they start: what belongs to it, whatever it is called.
pub const SERVICE_MARK: &str = "PLIMSOLL_SERVICE";

/// Bytes of a process's name that the kernel keeps (TASK_COMM_LEN in include/linux/sched.h, without the zero at the
/// end).
const LONGEST_PROCESS_NAME: usize = 15;

/// When a service counts as ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct Ready {
    /// An HTTP path that must answer with status 200; without it, it is enough that every port takes a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// How long it may take.
    #[default(Span::secs(10))]
    pub within: Span,
}

/// Interface of every kind of service.
pub trait ServiceType {
    /// Whether it makes sense where it stands.
    fn check(&self, at: &ServicePlace<'_>) -> Checked;

    /// The service in words.
    fn describe(&self) -> String;

    /// Effects on the machine. No kind has a default: each says so where it does nothing.
    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect>;

    /// The service that connections are passed on to.
    fn onward(&self) -> Option<&str> {
        None
    }

    /// The volume that it keeps its queue on.
    fn volume(&self) -> Option<&str> {
        None
    }

    /// The service with its queue in a folder; absent for one without a queue.
    fn with_queue_in(&self, _folder: String) -> Option<ServiceKind> {
        None
    }

    /// How many ports it listens on.
    fn listeners(&self) -> u32 {
        1
    }

    /// Whether Plimsoll starts it.
    fn is_started(&self) -> bool {
        true
    }

    /// The names of the programs that its processes run; empty if Plimsoll itself serves it.
    fn programs(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Whether it can do something with all rights of the user who runs Plimsoll.
    fn may_be_privileged(&self) -> bool {
        false
    }

    /// Whether it takes mail, or may.
    fn takes_mail(&self) -> bool {
        false
    }

    /// Whether it passes on whatever bytes come.
    fn passes_bytes(&self) -> bool {
        false
    }

    /// Whether it has files that outlive a restart of it.
    fn keeps_files(&self) -> bool {
        false
    }

    /// Whether it speaks TLS; `None` if that is not known from what it is.
    fn speaks_tls(&self) -> Option<bool> {
        None
    }
}

/// A service and where it stands.
pub struct ServicePlace<'e> {
    experiment: &'e Experiment,
    name: &'e String,
    service: &'e Service,
}

impl ServicePlace<'_> {
    /// A key of the table of its kind.
    fn key(&self, key: &str) -> [Part; 4] {
        path!["services", self.name, self.service.kind.key(), key]
    }

    fn effect(&self, kind: EffectKind, key: &str, what: String) -> Effect {
        Effect::new(kind, format!("services.{}.{key}", self.name), what).on(&self.service.on)
    }

    fn program(&self, what: &str, whom: RunAs) -> Effect {
        self.effect(EffectKind::Program, self.service.kind.key(), what.to_owned()).run_as(whom)
    }

    fn documents(&self, root: Option<&str>) -> Option<Effect> {
        let root = root?;
        let what = format!("serves the files below {}", word(root));
        Some(self.effect(EffectKind::Reads, &format!("{}.root", self.service.kind.key()), what).at_path(root))
    }

    fn queue(&self, folder: Option<&str>) -> Option<Effect> {
        let folder = folder?;
        let what = format!("its queue in {}, which is made where it is not there and stays", word(folder));
        Some(
            self.effect(EffectKind::Writes, &format!("{}.queue", self.service.kind.key()), what)
                .at_path(folder),
        )
    }
}

impl ServiceKind {
    /// Whether Plimsoll itself serves it; anything else is a program of its own.
    pub fn is_builtin(&self) -> bool {
        self.programs().is_empty()
    }

    /// The service with its queue in a folder; unchanged where it has no queue.
    #[must_use]
    pub fn with_queue_in(self, folder: String) -> Self {
        self.deref().with_queue_in(folder).unwrap_or(self)
    }
}

impl Service {
    /// The service that connections are passed on to.
    pub fn onward(&self) -> Option<&str> {
        self.kind.onward().or(self.to.as_deref())
    }

    /// The names that the kernel knows its processes by, when the service has this name. What a program starts in its turn is not among them.
    pub fn processes(&self, name: &str) -> Vec<String> {
        let programs = self.kind.programs();
        let names = if programs.is_empty() { vec![name] } else { programs };
        let cut = |name: &str| {
            let bytes = &name.as_bytes()[..name.len().min(LONGEST_PROCESS_NAME)];
            String::from_utf8_lossy(bytes).into_owned()
        };
        names.into_iter().map(cut).collect()
    }

    /// Whether it speaks TLS; `None` if only its own configuration says so.
    pub(super) fn speaks_tls(&self) -> Option<bool> {
        self.kind.speaks_tls().filter(|_| self.config.is_none())
    }

    /// Whether it is given a certificate.
    pub fn has_certificate(&self) -> bool {
        let named = |text: &String| text.contains("{{tls.") || text.contains("{{ tls.");
        self.speaks_tls() == Some(true) || self.template.as_ref().is_some_and(named)
    }

    /// The service in words.
    pub fn describe(&self) -> String {
        self.kind.describe()
    }

    /// Effects on the machine.
    pub fn effects(&self, experiment: &Experiment, name: &String) -> Vec<Effect> {
        let Self {
            kind,
            pass_env,
            config,
            values,
            // Each program's line has these.
            env: _,
            privileged: _,
            // Services that stay among those of the file.
            on: _,
            port: _,
            ready: _,
            peers: _,
            template: _,
            to: _,
        } = self;
        let at = ServicePlace { experiment, name, service: self };
        let mut found = kind.effects(&at);
        found.extend(config.iter().map(|config| {
            let what = format!("{}, a configuration that can do all that its program may", word(config));
            at.effect(EffectKind::Reads, "config", what)
        }));
        found.extend(values.iter().filter_map(|(name, value)| match value {
            SysctlValue::Text(path) if path.starts_with('/') => {
                let what = format!("{}, as far as its configuration reads it", word(path));
                Some(at.effect(EffectKind::Reads, &format!("values.{name}"), what))
            }
            _ => None,
        }));
        let passed = pass_env.iter().map(|name| at.effect(EffectKind::Secret, "pass_env", word(name)));
        found.extend(passed.map(|secret| secret.needs_consent(Consent::Secrets)));
        found
    }

    /// Whether it makes sense.
    pub(super) fn check(&self, experiment: &Experiment, name: &String) -> Checked {
        declared(&self.on, &experiment.hosts, "host", path!["services", name, "on"])?;
        if let Some(0) = self.port {
            return Err(problem(path!["services", name, "port"], "0 is no port", "a number from 1 to 65535"));
        }
        self.kind.check(&ServicePlace { experiment, name, service: self })?;
        if self.ready.http.is_some() && self.speaks_tls() == Some(true) {
            let message = "whether the service is ready is asked without TLS";
            return Err(problem(
                path!["services", name, "ready", "http"],
                message,
                "nothing: a port that takes connections is enough",
            ));
        }
        self.check_rights(name)?;
        self.check_config(experiment, name)?;
        match &self.to {
            Some(to) => declared(to, &experiment.services, "service", path!["services", name, "to"]),
            None => Ok(()),
        }
    }

    /// The services that have to run before it: the one that it passes connections on to, and those that its configuration names.
    pub fn needs(&self) -> Vec<&str> {
        self.onward().into_iter().chain(self.peers.iter().map(String::as_str)).collect()
    }

    fn check_config(&self, experiment: &Experiment, name: &String) -> Checked {
        let given = [("values", !self.values.is_empty()), ("peers", !self.peers.is_empty())];
        for (key, given) in given {
            if given && self.config.is_none() {
                let message = "only a configuration file has use for it";
                return Err(problem(
                    path!["services", name, key],
                    message,
                    format!("`{key}` beside `config`"),
                ));
            }
        }
        if self.config.is_some() && self.kind.is_builtin() {
            let message = "this service is built in, and has no configuration file";
            return Err(problem(path!["services", name, "config"], message, "it beside a program"));
        }
        self.peers.iter().enumerate().try_for_each(|(place, peer)| {
            declared(peer, &experiment.services, "service", path!["services", name, "peers", place])
        })
    }

    /// Error in the text of its configuration file, in words, with the number of the line.
    pub fn objection_to_template(&self, text: &str) -> Option<String> {
        let known = |name: &str| {
            let mut parts = name.split('.');
            match (parts.next(), parts.next(), parts.next()) {
                (Some("port" | "address" | "scratch"), None, _) => true,
                (Some("tls"), Some(file), None) => CertificateFile::named(file).is_some(),
                (Some("to"), None | Some("address" | "port"), None) => self.onward().is_some(),
                (Some("values"), Some(value), None) => self.values.contains_key(value),
                (Some("peers"), Some(peer), None | Some("address" | "port")) => {
                    self.peers.iter().any(|known| known == peer) && parts.next().is_none()
                }
                _ => false,
            }
        };
        let filled = template::fill(text, |name| known(name).then(String::new));
        filled.err().map(|error| error.to_string())
    }

    /// Checks the settings of a program beyond those of every program.
    fn check_rights(&self, name: &String) -> Checked {
        let program = self.kind.exec().is_some();
        if self.privileged && !self.kind.may_be_privileged() {
            return Err(problem(
                path!["services", name, "privileged"],
                "this service needs no rights of its own",
                "`privileged` beside `exec` or `postfix`",
            ));
        }
        for (key, given) in [("env", !self.env.is_empty()), ("pass_env", !self.pass_env.is_empty())] {
            if given && !program {
                let message = "only a program of your own gets variables of the environment";
                return Err(problem(path!["services", name, key], message, format!("`{key}` beside `exec`")));
            }
        }
        for (index, variable) in self.pass_env.iter().enumerate() {
            if variable.is_empty() || variable.contains(['=', '\0']) {
                return Err(problem(
                    path!["services", name, "pass_env", index],
                    format!("`{variable}` is no name of a variable"),
                    "one such as \"DATABASE_URL\"",
                ));
            }
        }
        Ok(())
    }
}

/// The longest message that a service can be asked to take, in bytes.
const LARGEST_MESSAGE: u64 = 1 << 30;

fn check_retry(first: Span, most: Span, path: impl Into<Vec<Part>>) -> Checked {
    if first.0.is_zero() || first > most {
        return Err(problem(
            path,
            "this is no time between two attempts",
            "a length of time of more than 0 that is not longer than `retry_most`",
        ));
    }
    Ok(())
}

/// Whether a path can stand in the configuration that Plimsoll writes, where some other characters would begin a directive of their own.
pub fn stands_in_configuration(path: &str) -> bool {
    path.chars().all(|c| c.is_alphanumeric() || "/._-+@,:~=".contains(c))
}

fn check_configured(path: Option<&str>, here: impl Into<Vec<Part>>) -> Checked {
    match path.filter(|path| !stands_in_configuration(path)) {
        None => Ok(()),
        Some(path) => {
            let message = format!("{} cannot stand in a configuration file", word(path));
            Err(problem(here, message, "a path of letters, digits and `/._-+@,:~=`"))
        }
    }
}

/// Where a queue lies: in a folder, or on a volume of the same host that files can be made on.
fn check_queue(at: &ServicePlace<'_>, queue: Option<&str>, volume: Option<&str>) -> Checked {
    if let Some(folder) = queue.filter(|folder| !folder.starts_with('/')) {
        let expected = "a path that starts with `/`";
        return Err(problem(at.key("queue"), format!("`{folder}` is no whole path"), expected));
    }
    let Some(name) = volume else { return Ok(()) };
    let here = at.key("volume");
    if queue.is_some() {
        return Err(problem(
            here,
            "the queue lies in a folder and on a volume",
            "either `queue` or `volume`",
        ));
    }
    declared(name, &at.experiment.volumes, "volume", here.clone())?;
    let volume = &at.experiment.volumes[name];
    if volume.on != at.service.on {
        let expected = format!("a volume on `{}`", at.service.on);
        return Err(problem(here, format!("the volume `{name}` is on `{}`", volume.on), expected));
    }
    if volume.has_files() {
        return Ok(());
    }
    let expected = "a `folder`, or a `loop` with a `filesystem`";
    Err(problem(here, format!("the volume `{name}` holds no files"), expected))
}
