//! Causes by who waits for whom: a program for its server, and that for servers of its own.

use plimsoll_model::cause::CauseEvidence;
use plimsoll_model::observation::program_of;
use plimsoll_model::report::{GrownWait, WaitFor};

use super::known::ABOUT_HALF;
use super::{Dependency, Known, by_functions, by_seen};

/// The fewest questions that make a queue, on average.
pub(super) const LEAST_QUEUED: f64 = 1.0;
/// A program that uses more CPUs has questions wait for those.
const COMPUTES: f64 = 0.5;
/// What threads of a program wait for that does its own work for a question. Others wait for an event of any question.
const OWN_WAITS: [WaitFor; 6] =
    [WaitFor::Disk, WaitFor::Memory, WaitFor::Lock, WaitFor::Pipe, WaitFor::Timer, WaitFor::Stopped];

/// The server that a program waits for, the server that this one waits for, and so on: each as long as it adds a good part of the time of the one before.
pub(super) fn chain<'k>(known: &'k Known<'_>, client: &str) -> Vec<&'k Dependency> {
    let mut chain: Vec<&Dependency> = Vec::new();
    loop {
        let at = chain.last().map_or(client, |last| &last.server);
        let asked = known.measured.dependencies.iter().filter(|it| it.client == at && added(known, it) > 0.0);
        let Some(next) = asked.max_by(|a, b| added(known, a).total_cmp(&added(known, b))) else {
            return chain;
        };
        let is_small = |last: &&Dependency| added(known, next) < ABOUT_HALF * added(known, last);
        if chain.last().is_some_and(is_small) || chain.iter().any(|it| it.client == next.client) {
            return chain;
        }
        chain.push(next);
    }
}

/// For how much longer answers were waited for, in the time of an operation.
fn added(known: &Known<'_>, asked: &Dependency) -> f64 {
    let [before, after] = known.of_one([asked.before, asked.after]);
    after - before
}

/// Questions that a program has not passed on to servers of its own, on average.
#[derive(Debug, PartialEq)]
pub(super) struct Queue<'k> {
    pub(super) server: &'k str,
    /// Questions that wait for it, before and after.
    pub(super) asked: [f64; 2],
    /// Those of them that it has passed on.
    pub(super) passed_on: [f64; 2],
}

/// The queue of a program that has servers of its own, where that took the added time.
pub(super) fn queue<'k>(known: &'k Known<'_>, server: &'k str) -> Option<Queue<'k>> {
    let sum = |is_it: &dyn Fn(&Dependency) -> bool| {
        let all = known.measured.dependencies.iter().filter(|it| is_it(it));
        all.fold([0.0, 0.0], |[before, after], it| [before + it.before, after + it.after])
    };
    let (asked, passed_on) = (sum(&|it| it.server == server), sum(&|it| it.client == server));
    let queue = Queue { server, asked, passed_on };
    let added = |of: [f64; 2]| {
        let [before, after] = known.of_one(of);
        after - before
    };
    let queued = queue.kept();
    let is_it = passed_on[1] > 0.0
        && queued[1] - queued[0] >= LEAST_QUEUED
        && added(queued) >= ABOUT_HALF * added(asked)
        && !works(known, server);
    is_it.then_some(queue)
}

/// Whether threads of a program compute or wait for something of their own.
pub(super) fn works(known: &Known<'_>, program: &str) -> bool {
    let Some(profile) = known.profile else { return false };
    let computes =
        profile.cpu_use.iter().any(|it| program_of(&it.who.process) == program && it.after_cpus > COMPUTES);
    let is_own = |it| OWN_WAITS.contains(&it);
    computes || profile.waits.iter().any(|it| program_of(&it.who.process) == program && is_own(it.wait_for))
}

/// What threads of a program wait for longer, and which of its functions take more time, as evidence.
pub(super) fn work(known: &Known<'_>, program: &str) -> Vec<CauseEvidence> {
    let Some(profile) = known.profile else { return Vec::new() };
    let is_its = |process: &str| program_of(process) == program;
    let waits: Vec<&GrownWait> = profile.waits.iter().filter(|it| is_its(&it.who.process)).collect();
    let functions = profile.functions.iter().filter(|it| it.owner.last().is_some_and(|last| is_its(last)));
    let functions = functions.take(2).map(|it| by_functions::function_evidence(it, &profile.per));
    by_seen::wait_evidence(known, &waits).into_iter().chain(functions).collect()
}

impl Queue<'_> {
    /// Questions that it keeps.
    pub(super) fn kept(&self) -> [f64; 2] {
        [0, 1].map(|side| (self.asked[side] - self.passed_on[side]).max(0.0))
    }

    pub(super) fn evidence(&self) -> [CauseEvidence; 2] {
        let row = |what: &str, [before, after]: [f64; 2]| CauseEvidence {
            metric: format!("{what} {}, on average", self.server),
            before,
            after,
            unit: "count".to_owned(),
        };
        [row("questions in the queue of", self.kept()), row("questions passed on by", self.passed_on)]
    }
}

/// Connections on which answers are waited for, as evidence.
pub(super) fn evidence(asked: &Dependency) -> CauseEvidence {
    CauseEvidence {
        metric: format!("connections on which {} waits for {}, on average", asked.client, asked.server),
        before: asked.before,
        after: asked.after,
        unit: "count".to_owned(),
    }
}
