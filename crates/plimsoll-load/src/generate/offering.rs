//! Requests of an open loop, due and sent.

use hdrhistogram::Histogram;
use plimsoll_model::observation::{Histogram as Recorded, Offer, Step};

use super::histogram::{histogram, record};

/// Counts of an open loop.
#[derive(Clone)]
pub(super) struct Offering {
    start: u64,
    length: u64,
    due: u64,
    begun: u64,
    queued: u64,
    last_begun: u64,
    send_lag: Histogram<u64>,
    steps: Vec<StepTally>,
}

/// Counts of one step of a load that has steps.
#[derive(Clone)]
struct StepTally {
    rate: f64,
    due: u64,
    begun: u64,
    requests: u64,
    errors: u64,
    latency: Histogram<u64>,
}

impl StepTally {
    fn new(rate: f64) -> Self {
        Self { rate, due: 0, begun: 0, requests: 0, errors: 0, latency: histogram() }
    }
}

impl Offering {
    /// An empty record of requests from `start` on for `length` nanoseconds, in steps of these rates.
    pub(super) fn new(start: u64, length: u64, steps: &[f64]) -> Self {
        Self {
            start,
            length,
            due: 0,
            begun: 0,
            queued: 0,
            last_begun: start,
            send_lag: histogram(),
            steps: steps.iter().copied().map(StepTally::new).collect(),
        }
    }

    /// The step that a time belongs to; none after the last.
    fn step(&mut self, at: u64) -> Option<&mut StepTally> {
        if self.steps.is_empty() {
            return None;
        }
        let since = u128::from(at.saturating_sub(self.start));
        let index = since * self.steps.len() as u128 / u128::from(self.length.max(1));
        self.steps.get_mut(usize::try_from(index).unwrap_or(usize::MAX))
    }

    /// A request that was due at `intended` begins at `now`; `held` when it had to wait for a connection.
    pub(super) fn begun(&mut self, intended: u64, held: bool, now: u64) {
        self.due += 1;
        self.begun += 1;
        self.last_begun = self.last_begun.max(now);
        if held {
            self.queued += 1;
        } else {
            record(&mut self.send_lag, intended, now);
        }
        if let Some(step) = self.step(intended) {
            step.due += 1;
            step.begun += 1;
        }
    }

    /// A request that was due at `intended` will never begin.
    pub(super) fn given_up(&mut self, intended: u64) {
        self.due += 1;
        if let Some(step) = self.step(intended) {
            step.due += 1;
        }
    }

    /// A request was answered at `now`.
    pub(super) fn answered(&mut self, intended: u64, now: u64) {
        if let Some(step) = self.step(now) {
            step.requests += 1;
            record(&mut step.latency, intended, now);
        }
    }

    /// Counts a failure at `now`.
    pub(super) fn failed(&mut self, now: u64) {
        if let Some(step) = self.step(now) {
            step.errors += 1;
        }
    }

    /// Adds the counts of another generator of the same load.
    pub(super) fn merge(&mut self, other: &Self) {
        self.due += other.due;
        self.begun += other.begun;
        self.queued += other.queued;
        self.last_begun = self.last_begun.max(other.last_begun);
        add(&mut self.send_lag, &other.send_lag);
        for (mine, theirs) in self.steps.iter_mut().zip(&other.steps) {
            mine.due += theirs.due;
            mine.begun += theirs.begun;
            mine.requests += theirs.requests;
            mine.errors += theirs.errors;
            add(&mut mine.latency, &theirs.latency);
        }
    }

    /// As an observation has it.
    pub(super) fn into_offer(self) -> Offer {
        let steps = self.steps.len() as u64;
        let bounds = (0..steps).map(|n| (self.length * n / steps, self.length * (n + 1) / steps));
        let step = |(step, (start_ns, end_ns)): (&StepTally, _)| {
            let latency = Recorded::from(&step.latency);
            Step {
                rate: step.rate,
                start_ns,
                end_ns,
                due: step.due,
                begun: step.begun,
                requests: step.requests,
                errors: step.errors,
                latency_us: latency.percentiles(),
                latency,
            }
        };
        let send_lag = Recorded::from(&self.send_lag);
        Offer {
            length_ns: self.length,
            due: self.due,
            begun: self.begun,
            queued: self.queued,
            last_begun_ns: self.last_begun - self.start,
            send_lag_us: send_lag.percentiles(),
            send_lag,
            steps: self.steps.iter().zip(bounds).map(step).collect(),
        }
    }
}

fn add(mine: &mut Histogram<u64>, theirs: &Histogram<u64>) {
    mine.add(theirs).expect("histograms of the same bounds can be added");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_in_the_step_of_their_time_and_answered_in_the_step_of_their_answer() {
        let mut offering = Offering::new(1_000, 2_000_000, &[10.0, 20.0]);
        offering.begun(1_000, false, 2_000);
        offering.begun(999_000, true, 1_500_000);
        offering.given_up(1_900_000);
        offering.answered(999_000, 1_601_000);
        offering.answered(999_000, 9_000_000);
        offering.failed(1_000);
        let mut other = Offering::new(1_000, 2_000_000, &[10.0, 20.0]);
        other.begun(1_500_000, false, 1_500_000);
        offering.merge(&other);
        let offer = offering.into_offer();
        assert_eq!((offer.due, offer.begun, offer.queued, offer.last_begun_ns), (4, 3, 1, 1_499_000));
        let [first, second] = &offer.steps[..] else { panic!("two steps: {offer:?}") };
        assert_eq!((first.due, first.begun, first.requests, first.errors), (2, 2, 0, 1));
        assert_eq!((second.due, second.begun, second.requests, second.errors), (2, 1, 1, 0));
        assert_eq!((first.end_ns, second.start_ns, second.end_ns), (1_000_000, 1_000_000, 2_000_000));
        assert_eq!((second.rate, second.latency_us.max), (20.0, 602));
    }
}
