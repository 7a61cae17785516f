//! A server that runs already, which no trial starts or stops.

use super::{ServicePlace, ServiceType};
use crate::experiment::HostKind;
use crate::experiment::prelude::*;

/// A server that runs already on a machine that `reach` leads to. It listens on `port`. Plimsoll neither starts nor stops it, and each trial meets the
/// state that the trial before has left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunningService {}

impl ServiceType for RunningService {
    fn check(&self, at: &ServicePlace<'_>) -> Checked {
        let ServicePlace { experiment, name, service } = at;
        let host = experiment.hosts.get(&service.on);
        if host.is_some_and(|host| host.kind != HostKind::Remote) {
            let message = format!(
                "`{}` is made for the run, and no server runs on it before the run starts",
                service.on
            );
            let expected = "a host with `reach`, such as `reach = { command = [\"plimsoll\", \"agent\"] }` for this machine";
            return Err(problem(path!["services", *name, "on"], message, expected));
        }
        if service.port.is_none() {
            let expected = "the port on which the server listens, such as `port = 8080`";
            return Err(problem(
                path!["services", *name],
                "a running server has a port of its own",
                expected,
            ));
        }
        let refused = [
            ("env", !service.env.is_empty()),
            ("to", service.to.is_some()),
            ("config", service.config.is_some()),
        ];
        match refused.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((key, _)) => {
                let message = "Plimsoll does not start this server, so it cannot set this";
                Err(problem(
                    path!["services", *name, *key],
                    message,
                    "this only beside `exec` or another program",
                ))
            }
        }
    }

    fn describe(&self) -> String {
        "a server that runs already".to_owned()
    }

    fn effects(&self, at: &ServicePlace<'_>) -> Vec<Effect> {
        let port = at.service.port.unwrap_or_default();
        vec![at.effect(
            EffectKind::Network,
            "running",
            format!("loads reach the server that runs there on port {port}"),
        )]
    }

    fn is_started(&self) -> bool {
        false
    }

    fn takes_mail(&self) -> bool {
        true
    }
}
