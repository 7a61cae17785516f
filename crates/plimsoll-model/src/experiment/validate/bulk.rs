//! What must hold of bulk and UDP loads, and of the services that they aim at.

use super::{Checked, declared, in_range, problem};
use crate::experiment::problem::Part;
use crate::experiment::service::WebModel;
use crate::experiment::{BulkLoad, Direction, Experiment, Load, SendBy, Service, UdpLoad};
use crate::units::Span;

/// The largest buffer that may be asked for, in bytes.
const LARGEST_BUFFER: u64 = 1 << 30;

pub(super) fn check_service(experiment: &Experiment, name: &String, service: &Service) -> Checked {
    if let Some(web) = &service.web
        && web.model == WebModel::EventLoop
        && web.by != SendBy::Write
    {
        return Err(problem(
            path!["services", name, "web", "by"],
            "an event loop writes its documents",
            "`write`, or a model that gives each connection a process or a thread",
        ));
    }
    if let Some(bulk) = &service.bulk {
        let here = |key: &str| path!["services", name, "bulk", key];
        in_range(bulk.chunk.0, 1, 16 << 20, here("chunk"))?;
        in_range(u64::from(bulk.backlog), 1, 65_535, here("backlog"))?;
        if let Some(bytes) = bulk.receive_buffer {
            in_range(bytes.0, 1, LARGEST_BUFFER, here("receive_buffer"))?;
        }
    }
    if let Some(proxy) = &service.tcp_proxy {
        let here = |key: &str| path!["services", name, "tcp_proxy", key];
        declared(&proxy.to, &experiment.services, "service", here("to"))?;
        in_range(proxy.buffer.0, 4 << 10, 1 << 20, here("buffer"))?;
        in_range(u64::from(proxy.backlog), 1, 65_535, here("backlog"))?;
    }
    Ok(())
}

pub(super) fn check_load(experiment: &Experiment, name: &String, load: &Load) -> Checked {
    if let Some(bulk) = &load.bulk {
        check_bulk(bulk, |key| path!["loads", name, "bulk", key].to_vec())?;
        ends_at_bulk(experiment, name, &load.to)?;
    }
    if let Some(udp) = &load.udp {
        check_udp(udp, |key| path!["loads", name, "udp", key].to_vec())?;
        let service = &experiment.services[&load.to];
        if service.bulk.is_none() {
            return Err(problem(
                path!["loads", name, "to"],
                format!("the service `{}` takes no datagrams", load.to),
                "a service of kind `bulk`",
            ));
        }
    }
    Ok(())
}

/// A bulk load may pass any number of services that pass bytes on, but ends at one of its kind.
fn ends_at_bulk(experiment: &Experiment, name: &String, to: &str) -> Checked {
    let mut at = to;
    // A chain that leads back to itself is found when the services are checked.
    for _ in 0..=experiment.services.len() {
        match experiment.services.get(at) {
            Some(service) if service.bulk.is_some() => return Ok(()),
            Some(service) => match service.onward() {
                Some(onward) => at = onward,
                None => break,
            },
            None => return Ok(()),
        }
    }
    Err(problem(
        path!["loads", name, "to"],
        format!("bulk loads that go to `{to}` end at `{at}`, which is not of their kind"),
        "a service of kind `bulk`, or one that passes connections on to such a service",
    ))
}

fn check_bulk(bulk: &BulkLoad, here: impl Fn(&str) -> Vec<Part>) -> Checked {
    if bulk.total.is_some() == bulk.duration.is_some() {
        return Err(problem(
            here("total")[..3].to_vec(),
            "the load does not say how long it goes on",
            "either `total` or `duration`",
        ));
    }
    in_range(u64::from(bulk.streams), 1, 256, here("streams"))?;
    in_range(bulk.chunk.0, 1, 16 << 20, here("chunk"))?;
    for (key, bytes) in [("send_buffer", bulk.send_buffer), ("receive_buffer", bulk.receive_buffer)] {
        if let Some(bytes) = bytes {
            in_range(bytes.0, 1, LARGEST_BUFFER, here(key))?;
        }
    }
    if bulk.pause > Span::secs(10) {
        return Err(problem(
            here("pause"),
            format!("{} is too long for a pause", bulk.pause),
            "at most 10 s",
        ));
    }
    if let Some(message) = bulk.message {
        in_range(message.0, 1, 1 << 30, here("message"))?;
        if bulk.direction != Direction::Send {
            return Err(problem(
                here("message"),
                "messages go from the load to the service",
                "it only beside `direction = \"send\"`",
            ));
        }
    }
    Ok(())
}

fn check_udp(udp: &UdpLoad, here: impl Fn(&str) -> Vec<Part>) -> Checked {
    in_range(u64::from(udp.flows), 1, 64, here("flows"))?;
    in_range(u64::from(udp.size), 32, 65_507, here("size"))?;
    in_range(u64::from(udp.batch), 1, 1024, here("batch"))?;
    if let Some(rate) = udp.packets_per_second {
        in_range(rate, 1, 100_000_000, here("packets_per_second"))?;
    }
    if udp.duration.0.is_zero() {
        return Err(problem(here("duration"), "nothing can be sent in no time", "a length of time"));
    }
    Ok(())
}
