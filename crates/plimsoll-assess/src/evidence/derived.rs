//! Figures of each slice that no single counter has: shares of the busiest CPU, of the generator's threads, and unanswered questions.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_explain::causes::OPEN_SHARE;
use plimsoll_explain::evidence::Figure;
use plimsoll_model::observation::{LoadResult, PhaseRecord, Slice, Stream};
use plimsoll_model::plan::Plan;

use super::{MACHINE, Sides, figures, operations, place};
use crate::sides::Side;

/// Softirqs that take less than this of one CPU's time are spread by chance, in per cent.
const LEAST_SOFTIRQ: f64 = 5.0;

/// The figures of phases, each with its side.
pub(super) fn of(plan: &Plan, phases: &[(&PhaseRecord, Side)]) -> Vec<Figure> {
    let (mut levels, mut of_one) = (Sides::new(), Sides::new());
    let slices = || phases.iter().flat_map(|(phase, _)| &phase.slices);
    let queues: BTreeSet<(&String, String)> = slices()
        .flat_map(|slice| &slice.counters)
        .flat_map(|(host, counters)| queues(counters).into_keys().map(move |name| (host, name)))
        .collect();
    for (phase, side) in phases {
        let load = plan.experiment.measured_load(&phase.name);
        let load = load.and_then(|name| plan.experiment.loads.get(name));
        for slice in &phase.slices {
            let place = place(slice, *side);
            let mut level = |host: &str, name: &str, value: f64| {
                levels.entry((host.to_owned(), name.to_owned())).or_default()[place].push(value);
            };
            let machine = slice.counters.get(MACHINE);
            for (name, share) in machine
                .into_iter()
                .flat_map(|counters| busiest(counters, slice.result.elapsed_ns as f64 / 1e3))
            {
                level(MACHINE, name, share);
            }
            for (host, name) in &queues {
                let of_host = slice.counters.get(*host).map(self::queues);
                level(host, name, of_host.and_then(|all| all.get(name).copied()).unwrap_or(0.0));
            }
            if let (Some(load), Some(share)) = (load, window_limited_share(slice)) {
                level(&load.from, "tcp_info.window_limited_share", share);
            }
            if let (Some(load), Some(busy)) = (load, generators_share(slice)) {
                level(&load.from, "generator.busy_share", busy);
            }
            for (host, counters) in &slice.counters {
                if let Some((unanswered, number)) = unanswered(counters).zip(operations(slice)) {
                    let key = (host.clone(), "datagrams.unanswered".to_owned());
                    of_one.entry(key).or_default()[place].push(unanswered / number as f64);
                }
            }
        }
    }
    let mut all = figures(levels, None);
    all.extend(figures(of_one, Some("operation")));
    all
}

/// What part of all softirqs' time the CPU took that took most of it, which part of all received packets the CPU that received most, and for which part of
/// the time the first was busy; empty if there is one CPU, or hardly any such time.
pub(crate) fn busiest(counters: &BTreeMap<String, f64>, us: f64) -> Vec<(&'static str, f64)> {
    let of_cpus = |start: &str, field: &str| -> Vec<(String, f64)> {
        let each = counters.iter().filter_map(|(name, value)| {
            let cpu = name.strip_prefix(start)?.strip_suffix(field)?.strip_suffix('.')?;
            cpu.bytes().all(|byte| byte.is_ascii_digit()).then(|| (cpu.to_owned(), *value))
        });
        each.filter(|(cpu, _)| !cpu.is_empty()).collect()
    };
    let share = |of: &[(String, f64)]| {
        let most = of.iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let all: f64 = of.iter().map(|(_, value)| value).sum();
        (all > 0.0).then(|| (most.0.clone(), 100.0 * most.1 / all))
    };
    let softirq = of_cpus("machine.stat.cpu", "softirq");
    let packets = of_cpus("machine.softnet.cpu", "processed");
    let cpus = of_cpus("machine.stat.cpu", "user").len();
    let time: f64 = softirq.iter().map(|(_, us)| us).sum();
    if cpus < 2 || 100.0 * time < LEAST_SOFTIRQ * us {
        return Vec::new();
    }
    let (Some((cpu, of_time)), Some((_, of_packets))) = (share(&softirq), share(&packets)) else {
        return Vec::new();
    };
    let idle = counters.get(&format!("machine.stat.cpu{cpu}.idle")).copied().unwrap_or(0.0);
    vec![
        ("softirq.busiest_share", of_time),
        ("softnet.busiest_share", of_packets),
        ("softirq.busiest_busy_share", 100.0 * (1.0 - idle / us).clamp(0.0, 1.0)),
    ]
}

/// Of each listening address, how full the longest queue was on average; of one that several sockets share, how unequal their queues were: 0 where
/// all were alike, and 100 % where one had all that waited, and how many that were. And how many questions to name servers were open. From what the counters of sockets moved by.
pub(crate) fn queues(counters: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let of = |address: &str, what: &str| counters.get(&format!("listen.{address}.{what}")).copied();
    let looks = counters.get("listen.looks").copied().filter(|looks| *looks > 0.0);
    let addresses = counters.keys().filter_map(|name| name.strip_prefix("listen.")?.strip_suffix(".filled"));
    let each = addresses.zip(std::iter::repeat(looks)).flat_map(|(address, looks)| {
        let full = of(address, "filled").zip(looks).map(|(sum, looks)| sum / looks);
        let waiting = of(address, "waiting").filter(|waiting| *waiting > 0.0);
        let uneven = of(address, "excess").zip(waiting).map(|(excess, waiting)| 100.0 * excess / waiting);
        let waiting = waiting.zip(looks).map(|(sum, looks)| sum / looks);
        [("fullest_share", full), ("uneven_share", uneven), ("waiting", waiting)]
            .map(|(what, value)| Some((format!("listen.{what} of {address}"), value?)))
    });
    let questions = counters.get("dns.questions").zip(looks).map(|(sum, looks)| sum / looks);
    each.flatten().chain(questions.map(|mean| (QUESTIONS.to_owned(), mean))).collect()
}

/// For which share of the looks a file was open, by its path.
pub(crate) fn open_files(counters: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let looks = counters.get("files.looks").copied().unwrap_or(0.0);
    let open = counters.iter().filter_map(|(name, found)| Some((name.strip_prefix("files.open.")?, found)));
    open.map(|(path, found)| (format!("{OPEN_SHARE}{path}"), 100.0 * found / looks.max(1.0))).collect()
}

/// How many questions to name servers are open at any time.
const QUESTIONS: &str = "dns.open_questions";

/// For which part of the time with something to send the receiver's window was the limit; `None` if no stream tells.
fn window_limited_share(slice: &Slice) -> Option<f64> {
    let ends = slice.result.streams().iter().filter_map(Stream::sending_end);
    let (busy, limited) =
        ends.fold((0, 0), |(busy, limited), end| (busy + end.busy_us, limited + end.rwnd_limited_us));
    (busy > 0).then(|| 100.0 * limited as f64 / busy as f64)
}

/// For which part of the measured time the threads of the load used a CPU; `None` if their work is measured itself.
fn generators_share(slice: &Slice) -> Option<f64> {
    let result = &slice.result;
    if result.facts.as_ref().is_some_and(|facts| facts.measures_its_own_work()) {
        return None;
    }
    LoadResult::busy_share([result]).map(|share| 100.0 * share)
}

/// Datagrams that a host sent beyond those that it got. Who asks for names sends one and gets one; who only receives sends none.
fn unanswered(counters: &BTreeMap<String, f64>) -> Option<f64> {
    let of = |name: &str| counters.get(name).copied().unwrap_or(0.0);
    let sent = of("snmp.Udp.OutDatagrams");
    counters
        .keys()
        .any(|name| name.starts_with("snmp."))
        .then(|| (sent - of("snmp.Udp.InDatagrams")).max(0.0))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::LoadResult;

    use super::*;

    fn slice(user_us: u64) -> Slice {
        let result = LoadResult { elapsed_ns: 1_000_000_000, user_us, threads: 2, ..LoadResult::default() };
        crate::fixture::slice(result)
    }

    fn counters(all: &[(&str, f64)]) -> BTreeMap<String, f64> {
        all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn the_cpu_that_does_most_of_the_softirqs_is_named_with_its_share() {
        let of = |second: f64| {
            let all = counters(&[
                ("machine.stat.cpu0.user", 1.0),
                ("machine.stat.cpu1.user", 1.0),
                ("machine.stat.cpu.softirq", 400_000.0),
                ("machine.stat.cpu0.softirq", 400_000.0 - second),
                ("machine.stat.cpu1.softirq", second),
                ("machine.stat.cpu0.idle", 100_000.0),
                ("machine.softnet.cpu0.processed", 9000.0),
                ("machine.softnet.cpu1.processed", 1000.0),
            ]);
            busiest(&all, 1e6)
        };
        assert_eq!(
            of(40_000.0),
            [
                ("softirq.busiest_share", 90.0),
                ("softnet.busiest_share", 90.0),
                ("softirq.busiest_busy_share", 90.0)
            ]
        );
        assert!(busiest(&counters(&[("machine.stat.cpu0.softirq", 4e5)]), 1e6).is_empty(), "one CPU");
    }

    #[test]
    fn queues_are_named_by_address_and_unequal_ones_only_where_something_waits() {
        let all = counters(&[
            ("listen.looks", 10.0),
            ("listen.0.0.0.0:80.filled", 600.0),
            ("listen.0.0.0.0:80.waiting", 40.0),
            ("listen.0.0.0.0:80.excess", 36.0),
            ("listen.[::]:22.filled", 0.0),
            ("listen.[::]:22.waiting", 0.0),
        ]);
        let expected = [
            ("listen.fullest_share of 0.0.0.0:80", 60.0),
            ("listen.fullest_share of [::]:22", 0.0),
            ("listen.uneven_share of 0.0.0.0:80", 90.0),
            ("listen.waiting of 0.0.0.0:80", 4.0),
        ];
        assert_eq!(queues(&all), counters(&expected));
        assert!(queues(&BTreeMap::new()).is_empty());
    }

    #[test]
    fn threads_that_are_always_busy_and_questions_without_answers_are_counted() {
        assert_eq!(generators_share(&slice(1_800_000)), Some(90.0));
        let of = |sent, got| {
            unanswered(&counters(&[("snmp.Udp.OutDatagrams", sent), ("snmp.Udp.InDatagrams", got)]))
        };
        assert_eq!((of(50.0, 20.0), of(20.0, 20.0), of(0.0, 90.0)), (Some(30.0), Some(0.0), Some(0.0)));
        assert_eq!(unanswered(&counters(&[("machine.stat.ctxt", 1.0)])), None);
    }
}
