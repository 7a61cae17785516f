//! Compares what is reported of a capture with what its programs say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use plimsoll_explain::stalls::{Class, ConnectionReport, Stall, TraceReport};
use serde::Deserialize;

use crate::books::Clock;

/// The truth of one capture, as `generate.py` writes it.
#[derive(Debug, Deserialize)]
pub(crate) struct Truth {
    /// The file with the packets, in the same folder.
    pub(crate) capture: String,
    link: String,
    at: String,
    /// The round trip of the link in seconds: by so much a capture may see a stall earlier or later than a program.
    pub(crate) slack_s: f64,
    connections: Vec<TrueConnection>,
}

#[derive(Debug, Deserialize)]
struct TrueConnection {
    client: String,
    server: String,
    scenario: String,
    family: String,
    /// Captures of both ends show the same, because nothing was lost between them.
    both_ends_agree: bool,
    stalls: Vec<TrueStall>,
}

#[derive(Debug, Deserialize)]
struct TrueStall {
    start_s: f64,
    length_ms: f64,
    class: String,
    /// Classes that packets alone cannot rule out; `*` for every one that speaks of no loss.
    also: Vec<String>,
    /// Whether it has to be found.
    required: bool,
}

type Span = (f64, f64);

/// Rounding of times in reports, in seconds.
const ROUNDED: f64 = 1e-4;

fn overlap(a: Span, b: Span) -> f64 {
    (a.1.min(b.1) - a.0.max(b.0)).max(0.0)
}

fn span(stall: &Stall) -> Span {
    (stall.start_s, stall.start_s + stall.length_ms / 1e3)
}

fn tells_of_loss(class: Class) -> bool {
    matches!(
        class,
        Class::Rto
            | Class::TailLoss
            | Class::FastRetransmit
            | Class::SynRetry
            | Class::SynackRetry
            | Class::SynIgnored
    )
}

impl TrueStall {
    fn span(&self, slack: f64) -> Span {
        (self.start_s - slack, self.start_s + self.length_ms / 1e3 + slack)
    }

    fn names(&self, class: Class) -> bool {
        self.class == class.name() || self.also.iter().any(|name| name == class.name())
    }

    fn fits(&self, class: Class) -> bool {
        self.names(class) || (self.also.iter().any(|name| name == "*") && !tells_of_loss(class))
    }

    /// The class that most of this stretch was given, or `None` where less than half of it, a round trip taken off, was given any.
    fn seen(&self, connection: Option<&ConnectionReport>, slack: f64) -> Option<Class> {
        let shifts: &[f64] = if slack > 0.0 { &[0.0, -0.5, 0.5, 1.0] } else { &[0.0] };
        let (begin, end) = self.span(0.0);
        let counted = shifts.iter().map(|shift| {
            let moved = (begin + shift * slack, end + shift * slack);
            let mut by_class: BTreeMap<Class, f64> = BTreeMap::new();
            for stall in connection.into_iter().flat_map(|connection| &connection.stalls) {
                *by_class.entry(stall.class).or_default() += overlap(moved, span(stall));
            }
            (by_class.values().sum::<f64>(), by_class)
        });
        let (total, by_class) = counted.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let (class, _) = by_class.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (total >= 0.5 * (end - begin - slack).max(0.01)).then_some(class)
    }
}

/// How many of a kind were read how.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Given the true class, or one that packets alone cannot tell from it.
    pub(crate) right: u32,
    /// Those of `right` that were given not the true class, but one of the others.
    either: u32,
    /// Given another class.
    pub(crate) wrong: u32,
    /// Not reported, or less than half of it.
    pub(crate) lost: u32,
    /// Reported, though there was none.
    pub(crate) invented: u32,
}

impl Tally {
    pub(crate) fn stalls(&self) -> u32 {
        self.right + self.wrong + self.lost
    }
}

#[derive(Debug, Default)]
pub(crate) struct Score {
    pub(crate) total: Tally,
    scenarios: BTreeMap<String, Tally>,
    places: BTreeMap<String, Tally>,
    confusion: BTreeMap<(String, &'static str), u32>,
    /// The class of each stall of a connection that was captured at both ends, by its link, addresses and number.
    ends: BTreeMap<(String, String, usize), BTreeMap<String, Option<Class>>>,
    pub(crate) misses: Vec<String>,
}

impl Score {
    pub(crate) fn add(&mut self, truth: &Truth, report: &TraceReport, clock: &Clock) {
        let reported: BTreeMap<(&str, &str), &ConnectionReport> =
            report.connections.iter().map(|found| ((&*found.client, &*found.server), found)).collect();
        for connection in &truth.connections {
            let (client, server) = (&*connection.client, &*connection.server);
            let found = reported.get(&(client, server)).or_else(|| reported.get(&(server, client))).copied();
            let place = format!("{}, {client} > {server} ({})", truth.capture, connection.scenario);
            let mut tally = Tally::default();
            for (number, stall) in connection.stalls.iter().enumerate().filter(|(_, stall)| stall.required) {
                let seen = stall.seen(found, truth.slack_s);
                self.confuse(&mut tally, stall, seen, &place);
                if connection.both_ends_agree {
                    let key = (truth.link.clone(), format!("{client} > {server}"), number);
                    self.ends.entry(key).or_default().insert(truth.at.clone(), seen);
                }
            }
            if let Some(found) = found {
                self.find_invented(&mut tally, connection, (found, clock), truth.slack_s, &place);
            }
            let scenario = format!("{}: {}", connection.family, connection.scenario);
            let view = format!("{}, {}", truth.link, truth.at);
            for sum in [
                &mut self.total,
                self.scenarios.entry(scenario).or_default(),
                self.places.entry(view).or_default(),
            ] {
                sum.right += tally.right;
                sum.either += tally.either;
                sum.wrong += tally.wrong;
                sum.lost += tally.lost;
                sum.invented += tally.invented;
            }
        }
    }

    fn confuse(&mut self, tally: &mut Tally, stall: &TrueStall, seen: Option<Class>, place: &str) {
        let how = match seen {
            Some(class) if stall.fits(class) => {
                tally.right += 1;
                tally.either += u32::from(stall.class != class.name());
                None
            }
            Some(class) => {
                tally.wrong += 1;
                Some(format!("reported as {class}"))
            }
            None => {
                tally.lost += 1;
                Some("not reported".to_owned())
            }
        };
        *self.confusion.entry((stall.class.clone(), seen.map_or("(none)", Class::name))).or_default() += 1;
        if let Some(how) = how {
            self.misses.push(format!(
                "{place}: {} of {:.1} ms at {:.4} s {how}",
                stall.class, stall.length_ms, stall.start_s
            ));
        }
    }

    /// Finds reported stalls without a cause. They count from 50 ms on, from 20 ms on if a loss is claimed, and any
    /// timeout without a retransmitted segment. Programs do not know about needless retransmissions by the kernel, as
    /// on a machine too busy to acknowledge in time. Those are taken from the packets themselves.
    fn find_invented(
        &mut self,
        tally: &mut Tally,
        truth: &TrueConnection,
        (found, clock): (&ConnectionReport, &Clock),
        slack: f64,
        place: &str,
    ) {
        let sent_again = found.from_client.retransmissions + found.from_server.retransmissions;
        for stall in &found.stalls {
            let (begin, end) = span(stall);
            if tells_of_loss(stall.class) && clock.sends_again(found, (begin - ROUNDED, end + ROUNDED)) {
                continue;
            }
            let near = |margin: f64| {
                truth.stalls.iter().filter(move |true_stall| {
                    (true_stall.required || true_stall.fits(stall.class))
                        && overlap(span(stall), true_stall.span(slack + margin)) > 0.0
                })
            };
            let covered: f64 = near(0.0).map(|it| overlap(span(stall), it.span(slack))).sum();
            let unfounded = stall.length_ms >= 50.0 && covered < 0.5 * stall.length_ms / 1e3;
            let no_loss = tells_of_loss(stall.class)
                && (stall.length_ms >= 20.0 || (stall.class == Class::Rto && sent_again == 0))
                && !near(0.1).any(|it| it.names(stall.class));
            if unfounded || no_loss {
                tally.invented += 1;
                self.misses.push(format!(
                    "{place}: {} of {:.1} ms at {:.4} s is invented: {}",
                    stall.class, stall.length_ms, stall.start_s, stall.evidence
                ));
            }
        }
    }

    /// Stalls to which captures of both ends gave different classes.
    pub(crate) fn disagreements(&self) -> Vec<String> {
        let differ = self.ends.iter().filter(|(_, seen)| seen.values().collect::<BTreeSet<_>>().len() > 1);
        differ.map(|(key, seen)| format!("{key:?}: {seen:?}")).collect()
    }
}

fn table(out: &mut fmt::Formatter<'_>, head: &str, rows: &BTreeMap<String, Tally>) -> fmt::Result {
    writeln!(out, "| {head} | stalls | right | of these not told apart | wrong class | lost | invented |")?;
    writeln!(out, "| --- | --- | --- | --- | --- | --- | --- |")?;
    for (name, row) in rows {
        let Tally { right, either, wrong, lost, invented } = row;
        writeln!(out, "| {name} | {} | {right} | {either} | {wrong} | {lost} | {invented} |", row.stalls())?;
    }
    writeln!(out)
}

impl fmt::Display for Score {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for miss in self.misses.iter().chain(&self.disagreements()) {
            writeln!(out, "{miss}")?;
        }
        writeln!(out)?;
        table(out, "family: scenario", &self.scenarios)?;
        table(out, "captured on, at", &self.places)?;
        let columns: BTreeSet<&str> = self.confusion.keys().map(|(_, seen)| *seen).collect();
        let rows: BTreeSet<&String> = self.confusion.keys().map(|(class, _)| class).collect();
        writeln!(out, "| true, reported as | {} |", columns.iter().copied().collect::<Vec<_>>().join(" | "))?;
        writeln!(out, "| --- |{}", " --- |".repeat(columns.len()))?;
        for class in rows {
            let mut line = format!("| {class} |");
            for column in &columns {
                match self.confusion.get(&(class.clone(), column)) {
                    Some(count) => write!(line, " {count} |")?,
                    None => line.push_str(" |"),
                }
            }
            writeln!(out, "{line}")?;
        }
        let Tally { right, either, wrong, lost, invented } = self.total;
        writeln!(
            out,
            "\n{} stalls: {right} right ({:.1} %, {either} of them by a class that packets alone cannot tell from the true one), \
             {wrong} of a wrong class, {lost} lost; {invented} invented; {} on which the ends disagree",
            self.total.stalls(),
            100.0 * f64::from(right) / f64::from(self.total.stalls().max(1)),
            self.disagreements().len()
        )
    }
}
