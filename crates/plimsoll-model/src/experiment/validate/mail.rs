//! What must hold of loads of mail, and of the services that they go through.

use super::{Checked, declared, in_range, problem};
use crate::experiment::problem::Part;
use crate::experiment::program::postfix;
use crate::experiment::{Experiment, Service};

/// The longest message that a service can be asked to take, in bytes.
const LARGEST_MESSAGE: u64 = 1 << 30;

pub(super) fn check_service(experiment: &Experiment, name: &String, service: &Service) -> Checked {
    if let Some(sink) = &service.smtp_sink {
        let here = |key: &str| path!["services", name, "smtp_sink", key];
        in_range(u64::from(sink.clients), 1, 100_000, here("clients"))?;
        in_range(u64::from(sink.backlog), 1, 65_535, here("backlog"))?;
        in_range(sink.max_message.0, 1, LARGEST_MESSAGE, here("max_message"))?;
        if sink.defer.0 + sink.reject.0 > 1.0 {
            return Err(problem(
                here("reject"),
                "more would be refused than there is",
                "`defer` and `reject` that are no more than 1 together",
            ));
        }
    }
    if let Some(relay) = &service.mail_relay {
        let here = |key: &str| path!["services", name, "mail_relay", key];
        declared(&relay.to, &experiment.services, "service", here("to"))?;
        in_range(u64::from(relay.writers), 1, 256, here("writers"))?;
        in_range(u64::from(relay.deliveries), 1, 1000, here("deliveries"))?;
        in_range(u64::from(relay.clients), 1, 100_000, here("clients"))?;
        in_range(u64::from(relay.backlog), 1, 65_535, here("backlog"))?;
        in_range(relay.max_message.0, 1, LARGEST_MESSAGE, here("max_message"))?;
        check_retry(relay.retry.0.is_zero(), relay.retry > relay.retry_most, here("retry"))?;
        check_queue(experiment, service, relay.queue.as_deref(), here)?;
    }
    if let Some(postfix) = &service.postfix {
        let here = |key: &str| path!["services", name, "postfix", key];
        declared(&postfix.to, &experiment.services, "service", here("to"))?;
        in_range(u64::from(postfix.processes), 1, 2000, here("processes"))?;
        in_range(postfix.max_message.0, 1, LARGEST_MESSAGE, here("max_message"))?;
        check_retry(postfix.retry.0.is_zero(), postfix.retry > postfix.retry_most, here("retry"))?;
        check_queue(experiment, service, postfix.queue.as_deref(), here)?;
        for (setting, value) in &postfix.settings {
            let word = !setting.is_empty() && setting.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            if !word || value.contains('\n') {
                let here = [here("settings").as_slice(), &path![setting]].concat();
                return Err(problem(here, "this cannot stand in main.cf", "a name and a value of one line"));
            }
            if postfix::names_programs(setting) && !service.privileged {
                let here = [here("settings").as_slice(), &path![setting]].concat();
                let message = format!("`{setting}` says which programs or files Postfix uses as root");
                return Err(problem(here, message, "`privileged = true` on the service beside it"));
            }
        }
    }
    Ok(())
}

fn check_retry(is_zero: bool, too_long: bool, path: impl Into<Vec<Part>>) -> Checked {
    if is_zero || too_long {
        return Err(problem(
            path,
            "this is no time between two attempts",
            "a length of time of more than 0 that is not longer than `retry_most`",
        ));
    }
    Ok(())
}

/// Where a queue lies: in a folder, or on a volume of the same host that files can be made on.
fn check_queue(
    experiment: &Experiment,
    service: &Service,
    queue: Option<&str>,
    here: impl Fn(&str) -> [Part; 4],
) -> Checked {
    if let Some(folder) = queue.filter(|folder| !folder.starts_with('/')) {
        let expected = "a path that starts with `/`";
        return Err(problem(here("queue"), format!("`{folder}` is no whole path"), expected));
    }
    let Some(name) = service.volume() else { return Ok(()) };
    let here = here("volume");
    if queue.is_some() {
        return Err(problem(
            here,
            "the queue lies in a folder and on a volume",
            "either `queue` or `volume`",
        ));
    }
    declared(name, &experiment.volumes, "volume", here.clone())?;
    let volume = &experiment.volumes[name];
    if volume.on != service.on {
        let expected = format!("a volume on `{}`", service.on);
        return Err(problem(here, format!("the volume `{name}` is on `{}`", volume.on), expected));
    }
    if volume.has_files() {
        return Ok(());
    }
    let expected = "a `folder`, or a `loop` with a `filesystem`";
    Err(problem(here, format!("the volume `{name}` holds no files"), expected))
}
