//! What must hold of bulk and UDP loads, and of the services that they aim at.

use super::{Checked, declared, in_range, problem};
use crate::experiment::problem::Part;
use crate::experiment::service::WebModel;
use crate::experiment::{Experiment, SendBy, Service, bulk};

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
            in_range(bytes.0, 1, bulk::LARGEST_BUFFER, here("receive_buffer"))?;
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
