//! Each pacing against a server that pauses, on a clock of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use plimsoll_model::experiment::HttpLoad;
use plimsoll_model::experiment::open_loop::OpenLoop as Rate;
use plimsoll_model::observation::LoadResult;
use plimsoll_model::units::Span;

use super::{ClosedLoop, OpenLoop, Pacing, Start};
use crate::generate::course::Course;
use crate::generate::tally::Tally;

const SECOND: u64 = 1_000_000_000;
/// How long the load goes on.
const LENGTH: u64 = 4 * SECOND;
/// When the server pauses, and until when.
const PAUSE: std::ops::Range<u64> = SECOND..2 * SECOND;
/// How long it takes to answer otherwise.
const ANSWER: u64 = 100_000;

/// When a request is answered that comes at `now`.
fn answered(now: u64) -> u64 {
    let end = now + ANSWER;
    if PAUSE.contains(&end) { PAUSE.end + ANSWER } else { end }
}

/// Lets a pacing go on until it is over, with a generator that is never late.
fn simulate(mut pacing: impl Pacing) -> LoadResult {
    let mut tally = Tally::new(0, None);
    let mut under_way = BinaryHeap::new();
    let mut now = 0;
    loop {
        let wake = match pacing.next(now, under_way.len()) {
            Start::Now { intended, .. } => {
                under_way.push(Reverse((answered(now), intended)));
                continue;
            }
            Start::At(due) => due,
            Start::TooLate { .. } => panic!("no request waits for longer than it may"),
            Start::WhenOneEnds | Start::Over => u64::MAX,
        };
        let next = under_way.peek().map_or(wake, |Reverse((end, _))| wake.min(*end));
        if next == u64::MAX {
            return tally.into_result(0, 1);
        }
        now = next;
        while let Some(Reverse((end, intended))) = under_way.peek().copied().filter(|r| r.0.0 <= now) {
            under_way.pop();
            tally.request(intended, intended, end, end);
        }
    }
}

fn load(concurrency: u32) -> HttpLoad {
    HttpLoad { concurrency, duration: Some(Span::secs(LENGTH / SECOND)), ..HttpLoad::default() }
}

/// At a constant rate all requests that are due during a pause of P are answered at its end, so that of those of a load of length T the
/// share x takes longer than P − x·T. For P = 1 s and T = 4 s the p99 is 0.96 s.
#[test]
fn after_a_pause_of_a_second_at_1000_per_second_the_p99_of_an_open_loop_is_that_of_the_closed_form() {
    let rate = Rate { rate: 1000.0, ..Rate::default() };
    let found = simulate(OpenLoop::new(&Course::from(&load(1200)), &rate, 0, (0, 1), 0));
    let pause = PAUSE.end - PAUSE.start;
    let expected = (pause as f64 - 0.01 * LENGTH as f64) / 1e3;
    assert_eq!(found.requests, 4000);
    let p99 = found.latency.percentiles.p99 as f64;
    assert!((p99 / expected - 1.0).abs() < 0.05, "{p99} µs instead of {expected}");
}

#[test]
fn of_the_same_pause_a_closed_loop_shows_one_slow_request_for_each_connection() {
    let found = simulate(ClosedLoop::new(&Course::from(&load(8)), 0));
    let percentiles = found.latency.percentiles;
    assert!(found.requests > 200_000, "{}", found.requests);
    assert!((99..=101).contains(&percentiles.p99), "{percentiles:?}");
    assert!(percentiles.max > 900_000, "{percentiles:?}");
}

/// As many connections as are kept from sending by the pause make no difference to what it is found to be.
#[test]
fn an_open_loop_sees_the_pause_through_few_connections_too() {
    let rate = Rate { rate: 1000.0, ..Rate::default() };
    let found = simulate(OpenLoop::new(&Course::from(&load(4)), &rate, 0, (0, 1), 0));
    let p99 = found.latency.percentiles.p99;
    assert!((912_000..1_008_000).contains(&p99), "{p99} µs");
}
