//! How full the queues of listening sockets are, how unequal those of one address, and how many questions to name servers are open.
//!
//! A queue is long at one moment and empty at the next, so that these are sums over looks: what a look adds, divided by the looks, is a mean.

use std::collections::BTreeMap;

use plimsoll_netlink::Socket;

use super::table::Table;
use crate::busiest::Sockets;
use crate::connections::{Listening, diagnostics, listening, open_questions};
use crate::unix_sockets;

/// The most addresses that are kept: a machine may listen on thousands of ports.
const MOST: usize = 64;

/// Sums over looks, by the name of their counter.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    looks: u64,
    sums: BTreeMap<String, f64>,
    /// Nothing before the first look, and where the kernel refuses.
    diagnostics: Option<Socket>,
    refused: bool,
    connections: Sockets,
}

impl Listeners {
    /// Looks at the sockets of the network namespace in which the thread was that looked first. A kernel that refused once is not asked again.
    pub(super) fn look(&mut self, table: &mut Table, asks_for_questions: bool) {
        if self.refused {
            return;
        }
        if self.diagnostics.is_none() {
            self.diagnostics = diagnostics().ok();
        }
        let listening = self
            .diagnostics
            .as_ref()
            .and_then(|diagnostics| Some((diagnostics, listening(diagnostics).ok()?)));
        let Some((diagnostics, all)) = listening else {
            self.refused = true;
            return;
        };
        let of_unix = unix_sockets::listening(diagnostics);
        let questions = if asks_for_questions { open_questions(diagnostics) } else { Ok(0) };
        if of_unix.is_err() || questions.is_err() {
            // The rest of an answer that broke off would pass for the next one.
            self.diagnostics = None;
        }
        self.looks += 1;
        for (address, it) in all {
            self.add(&address.to_string(), &it);
        }
        for (name, it) in of_unix.into_iter().flatten() {
            self.add(&name, &it);
        }
        if let Ok(questions) = questions {
            *self.sums.entry("dns.questions".to_owned()).or_default() += questions as f64;
        }
        table.set_named("listen.looks", self.looks as f64);
        for (name, sum) in &self.sums {
            table.set_named(name, *sum);
        }
    }

    /// Looks at connections as well: how many of the busiest hold data back until what they sent is acknowledged.
    pub(super) fn look_closely(&mut self, table: &mut Table) {
        if let Ok(look) = self.connections.look() {
            let held = look.busiest.iter().filter(|it| it.is_held()).count();
            for (name, count) in [("tcp.looked_at", look.busiest.len()), ("tcp.held", held)] {
                *self.sums.entry(name.to_owned()).or_default() += count as f64;
            }
        }
        self.look(table, true);
    }

    fn add(&mut self, address: &str, it: &Listening) {
        let is_shared = it.sockets > 1;
        let [filled, waiting, excess] =
            ["filled", "waiting", "excess"].map(|what| format!("listen.{address}.{what}"));
        let is_known = self.sums.contains_key(&filled);
        let is_full = || self.sums.keys().filter(|name| name.ends_with(".filled")).count() >= MOST;
        if !is_known && (it.waiting == 0 && !is_shared || is_full()) {
            return;
        }
        let mut add = |name, value| *self.sums.entry(name).or_default() += value;
        add(filled, 100.0 * f64::from(it.longest) / f64::from(it.limit.max(1)));
        add(waiting, it.waiting as f64);
        if is_shared {
            add(excess, it.excess());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_add_up_and_an_address_without_a_queue_has_no_counters() {
        let mut listeners = Listeners::default();
        let one =
            |waiting: u32| Listening { sockets: 1, waiting: waiting.into(), longest: waiting, limit: 8 };
        listeners.add("a:1", &one(0));
        assert!(listeners.sums.is_empty());
        [2, 0, 4].into_iter().for_each(|waiting| listeners.add("a:1", &one(waiting)));
        let expected = [("listen.a:1.filled".to_owned(), 75.0), ("listen.a:1.waiting".to_owned(), 6.0)];
        assert_eq!(listeners.sums, BTreeMap::from(expected));
        let shared = Listening { sockets: 2, waiting: 6, longest: 6, limit: 8 };
        listeners.add("b:1", &shared);
        assert_eq!((listeners.sums["listen.b:1.waiting"], listeners.sums["listen.b:1.excess"]), (6.0, 6.0));
    }
}
