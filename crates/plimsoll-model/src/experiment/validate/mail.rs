//! What must hold of loads of mail, and of the services that they go through.

use std::collections::BTreeSet;

use super::{Checked, declared, in_range, problem};
use crate::experiment::mail::{MessageSize, SizeShape};
use crate::experiment::problem::Part;
use crate::experiment::program::postfix;
use crate::experiment::{Experiment, Load, ProxyMode, Service, SmtpLoad};

/// The longest address that SMTP knows (RFC 5321, section 4.5.3.1: path without its brackets).
const LONGEST_ADDRESS: usize = 254;
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

pub(super) fn check_load(experiment: &Experiment, name: &String, load: &Load) -> Checked {
    let Some(smtp) = &load.smtp else { return Ok(()) };
    check_smtp(smtp, |key| path!["loads", name, "smtp", key].to_vec())?;
    if takes_mail(experiment, &load.to) {
        return Ok(());
    }
    Err(problem(
        path!["loads", name, "to"],
        format!("the service `{}` takes no mail", load.to),
        "a service of kind `smtp_sink`, `mail_relay`, `postfix` or `exec`, or one that passes bytes on to such a service",
    ))
}

/// Whether mail that goes to this service comes to one that takes it: at once, or by services that pass bytes on.
fn takes_mail(experiment: &Experiment, name: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut name = name;
    while let Some(service) = experiment.services.get(name).filter(|_| seen.insert(name)) {
        let is_server = service.smtp_sink.is_some()
            || service.mail_relay.is_some()
            || service.postfix.is_some()
            || service.exec.is_some();
        let passes_bytes = service.relay.is_some()
            || service.tcp_proxy.is_some()
            || service.haproxy.as_ref().is_some_and(|proxy| proxy.mode == ProxyMode::Tcp);
        match service.onward().filter(|_| passes_bytes && !is_server) {
            Some(next) => name = next,
            None => return is_server,
        }
    }
    false
}

fn check_smtp(smtp: &SmtpLoad, here: impl Fn(&str) -> Vec<Part>) -> Checked {
    if smtp.messages.is_some() == smtp.duration.is_some() {
        return Err(problem(
            here("messages")[..3].to_vec(),
            "the load does not say how long it goes on",
            "either `messages` or `duration`",
        ));
    }
    if let Some(messages) = smtp.messages {
        in_range(messages, 1, 1_000_000_000, here("messages"))?;
    }
    in_range(u64::from(smtp.generators), 1, 64, here("generators"))?;
    in_range(u64::from(smtp.sessions), 1, 100_000, here("sessions"))?;
    if smtp.per_minute.is_some_and(|rate| !(rate > 0.0 && rate <= 6e8)) {
        return Err(problem(
            here("per_minute"),
            "this is no rate",
            "messages per minute: more than 0, at most 600 million",
        ));
    }
    check_size(&smtp.size, |key| [here("size").as_slice(), &path![key]].concat())?;
    in_range(u64::from(smtp.recipients_per_message), 1, 100, here("recipients_per_message"))?;
    for (key, list) in [("senders", &smtp.senders), ("recipients", &smtp.recipients)] {
        if list.is_empty() {
            return Err(problem(here(key), "the list is empty", "at least one address"));
        }
        for (index, address) in list.iter().enumerate() {
            if !is_address(address) {
                let here = [here(key).as_slice(), &path![index]].concat();
                return Err(problem(
                    here,
                    format!("`{address}` is no address"),
                    "such as `someone@plimsoll.example`",
                ));
            }
        }
    }
    Ok(())
}

fn check_size(size: &MessageSize, here: impl Fn(&str) -> Vec<Part>) -> Checked {
    in_range(size.least.0, 128, 64 << 20, here("least"))?;
    in_range(size.most.0, size.least.0, 64 << 20, here("most"))?;
    match (size.shape, size.mean) {
        (SizeShape::Exponential, Some(mean)) => in_range(mean.0, size.least.0, size.most.0, here("mean")),
        (SizeShape::Exponential, None) => {
            Err(problem(here("shape"), "this shape has a mean", "`mean` beside it"))
        }
        (_, Some(_)) => Err(problem(
            here("mean"),
            "the mean follows from the ends",
            "it only beside `shape = \"exponential\"`",
        )),
        (_, None) => Ok(()),
    }
}

/// Whether an address can stand in a command as it is: printable ASCII without what SMTP gives a meaning to.
fn is_address(address: &str) -> bool {
    let fits = |b: u8| b.is_ascii_graphic() && !b"<>()[],;:\\\"".contains(&b);
    let (local, domain) = address.rsplit_once('@').unwrap_or_default();
    !local.is_empty()
        && !domain.is_empty()
        && !local.contains('@')
        && address.len() <= LONGEST_ADDRESS
        && address.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_two_parts_and_nothing_that_would_end_a_command() {
        for good in ["a@b", "first.last+tag@mail.example"] {
            assert!(is_address(good), "{good}");
        }
        for bad in ["", "a", "@b", "a@", "a@b@c", "a b@c", "a@b>\r\nQUIT", "<a@b>", "ü@b"] {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
