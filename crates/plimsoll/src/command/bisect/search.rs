//! The search itself: measure, believe, show, until it is sure; then the neighbours in turns.

use plimsoll_judge::bisect::{Bisection, Culprit};
use plimsoll_judge::compare::{self, CompareSettings, Comparison};
use plimsoll_judge::sequential::SequentialSettings;
use plimsoll_model::verdict::Outcome;

use super::meter::Neighbours;
use super::state::{Confirmation, Measured, Pair, State};
use crate::contest::{Contest, ContestError};
use crate::failure::Failure;
use crate::measure::{MeasureError, Meter};

/// Both ends must have this many measurements before they can count as equal.
const ENDS_TELL: usize = 20;

/// How a search is limited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) confidence: f64,
    pub(super) max_measurements: usize,
    pub(super) max_pairs: usize,
}

/// Outcome of a search.
#[derive(Debug)]
pub(super) enum SearchOutcome {
    /// The posterior is sure of a version, and its neighbours were compared.
    Sure(Culprit, Comparison),
    /// The measurements ran out first.
    Unsure,
    /// The ends do not differ by more than the margin: there is nothing to find.
    NoDifference(Comparison),
}

/// Why a search ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// A version could not be measured, or the user has seen enough.
    Measure(MeasureError),
    /// The state could not be kept, or a figure not be judged.
    Other(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

/// Receives a report after each measurement.
pub(super) trait Observer {
    /// A version was measured.
    fn measured(&mut self, bisection: &Bisection, version: usize, value: f64);
    /// A version cannot be measured, and is left out.
    fn skipped(&mut self, version: usize, why: &MeasureError);
    /// The neighbours were measured once more.
    fn compared(&mut self, culprit: &Culprit, contest: &Contest);
}

/// Searches on from what the state has. Where pairs of the neighbours refute it, they are measurements like others, and it goes on.
pub(super) fn search(
    state: &mut State,
    limits: Limits,
    settings: CompareSettings,
    meter: &mut dyn Meter,
    observer: &mut dyn Observer,
) -> Result<SearchOutcome, Stop> {
    let mut bisection = state.bisection(limits.confidence)?;
    loop {
        if let Some(ended) = point(&mut bisection, state, limits, settings, meter, observer)? {
            return Ok(ended);
        }
        let Some(culprit) = bisection.answer() else { return Ok(SearchOutcome::Unsure) };
        let comparison = confirm(state, &culprit, limits, settings, meter, observer)?;
        let is_confirmed = matches!(comparison.verdict.outcome, Outcome::Slower | Outcome::Faster);
        if is_confirmed || state.measurements.len() >= limits.max_measurements {
            return Ok(SearchOutcome::Sure(culprit, comparison));
        }
        refute(&mut bisection, state)?;
    }
}

/// Takes the pairs of a confirmation that failed for measurements.
fn refute(bisection: &mut Bisection, state: &mut State) -> Result<(), Failure> {
    let Some(refuted) = state.confirmation.take() else { return Ok(()) };
    let before = refuted.before.unwrap_or(refuted.culprit.saturating_sub(1));
    for pair in refuted.pairs {
        for (version, value) in [(before, pair.good), (refuted.culprit, pair.bad)] {
            bisection.record(version, value).map_err(|error| Failure::could_not(error.to_string()))?;
            state.measurements.push(Measured { version, value });
        }
    }
    state.save()
}

/// Measures until one version is probable enough; or says how the search ended without one.
fn point(
    bisection: &mut Bisection,
    state: &mut State,
    limits: Limits,
    settings: CompareSettings,
    meter: &mut dyn Meter,
    observer: &mut dyn Observer,
) -> Result<Option<SearchOutcome>, Stop> {
    while let Some(version) = bisection.next_query() {
        if state.measurements.len() >= limits.max_measurements {
            return Ok(Some(SearchOutcome::Unsure));
        }
        let value = match meter.measure(version) {
            Err(error) if error.asks_to_skip() && bisection.skip(version).is_ok() => {
                state.skipped.push(version);
                state.save()?;
                observer.skipped(version, &error);
                continue;
            }
            measured => measured.map_err(Stop::Measure)?.own(),
        };
        bisection.record(version, value).map_err(|error| Failure::could_not(error.to_string()))?;
        state.measurements.push(Measured { version, value });
        state.save()?;
        observer.measured(bisection, version, value);
        if let Some(ends) = same_ends(state, settings) {
            return Ok(Some(SearchOutcome::NoDifference(ends)));
        }
    }
    Ok(None)
}

/// The comparison of the ends, once it has found them the same.
fn same_ends(state: &State, settings: CompareSettings) -> Option<Comparison> {
    let of = |version: usize| -> Vec<f64> {
        state.measurements.iter().filter(|m| m.version == version).map(|m| m.value).collect()
    };
    let (good, bad) = (of(0), of(state.question.versions.len() - 1));
    if good.len().min(bad.len()) < ENDS_TELL {
        return None;
    }
    let found = compare::unpaired(&state.question.metric, &good, &bad, &settings).ok()?;
    (found.verdict.outcome == Outcome::Same).then_some(found)
}

/// Compares the culprit with the version before it in turns, a check without the model of the search.
fn confirm(
    state: &mut State,
    culprit: &Culprit,
    limits: Limits,
    compare: CompareSettings,
    meter: &mut dyn Meter,
    observer: &mut dyn Observer,
) -> Result<Comparison, Stop> {
    let judged =
        |error: plimsoll_judge::input::JudgeError| Stop::Other(Failure::could_not(error.to_string()));
    let settings =
        SequentialSettings { compare, most: Some(limits.max_pairs), ..SequentialSettings::default() };
    let mut contest = Contest::new(2, settings, state.seed).map_err(judged)?;
    let same = |stored: &Confirmation| {
        stored.culprit == culprit.version
            && stored.before.unwrap_or(culprit.version.saturating_sub(1)) == culprit.before
    };
    let mut confirmation = state.confirmation.take().filter(same);
    let stored = confirmation.get_or_insert(Confirmation {
        culprit: culprit.version,
        before: Some(culprit.before),
        pairs: Vec::new(),
    });
    for pair in &stored.pairs {
        contest.replay((*pair).into()).map_err(judged)?;
    }
    state.confirmation = confirmation;
    let mut neighbours = Neighbours { meter, places: [culprit.before, culprit.version] };
    while !contest.is_over() {
        let block = contest.measure_block(&mut neighbours).map_err(|error| match error {
            ContestError::Measure(error) => Stop::Measure(error),
            ContestError::Judge(error) => judged(error),
        })?;
        let pair = Pair::from(block);
        state.confirmation.get_or_insert_default().pairs.push(pair);
        state.save()?;
        observer.compared(culprit, &contest);
    }
    contest
        .comparisons(&state.question.metric)
        .map_err(judged)?
        .pop()
        .ok_or_else(|| Stop::Other(Failure::could_not("the neighbours were not compared")))
}

#[cfg(test)]
mod tests {
    use super::super::state::Question;
    use super::*;
    use crate::measure::Figure;
    use plimsoll_judge::stats::rng::SmallRng;

    /// Versions with a step at `culprit`, and noise; the search ends after a number of measurements.
    struct Fake {
        culprit: usize,
        step: f64,
        noise: f64,
        rng: SmallRng,
        left: usize,
    }

    impl Meter for Fake {
        fn measure(&mut self, which: usize) -> Result<Figure, MeasureError> {
            self.left = self.left.checked_sub(1).ok_or(MeasureError::Interrupted)?;
            let level = if which >= self.culprit { 1.0 + self.step } else { 1.0 };
            Ok(Figure::plain(level * (self.noise * self.rng.normal()).exp()))
        }
    }

    #[derive(Default)]
    struct Silent;

    impl Observer for Silent {
        fn measured(&mut self, _: &Bisection, _: usize, _: f64) {}
        fn skipped(&mut self, _: usize, _: &MeasureError) {}
        fn compared(&mut self, _: &Culprit, _: &Contest) {}
    }

    fn fake(culprit: usize, step: f64, left: usize) -> Fake {
        Fake { culprit, step, noise: 0.02, rng: SmallRng::new(3), left }
    }

    fn state(versions: usize) -> State {
        let question = Question {
            versions: (0..versions).map(|v| format!("v{v}")).collect(),
            command: Vec::new(),
            metric: "wall_time".into(),
            figure: None,
            repository: None,
        };
        State::open(None, question, Some(1)).unwrap()
    }

    const LIMITS: Limits = Limits { confidence: 0.99, max_measurements: 400, max_pairs: 60 };

    fn searched(state: &mut State, meter: &mut Fake) -> Result<SearchOutcome, Stop> {
        search(state, LIMITS, CompareSettings::default(), meter, &mut Silent)
    }

    #[test]
    fn a_step_is_found_and_its_neighbours_confirm_it() {
        let Ok(SearchOutcome::Sure(culprit, comparison)) = searched(&mut state(40), &mut fake(23, 0.1, 1000))
        else {
            panic!("not sure");
        };
        assert_eq!(culprit.version, 23);
        assert_eq!(comparison.verdict.outcome, Outcome::Slower);
    }

    /// For some measurements, every version but the last is fast.
    struct Misled(Fake, usize);

    impl Meter for Misled {
        fn measure(&mut self, which: usize) -> Result<Figure, MeasureError> {
            let Some(left) = self.1.checked_sub(1) else { return self.0.measure(which) };
            self.1 = left;
            self.0.measure(if which == 39 { 39 } else { 0 })
        }
    }

    #[test]
    fn a_search_that_the_machine_misled_goes_on_after_its_pairs_refute_it() {
        let mut misled = Misled(fake(23, 0.1, 1000), 12);
        let found = search(&mut state(40), LIMITS, CompareSettings::default(), &mut misled, &mut Silent);
        let Ok(SearchOutcome::Sure(culprit, comparison)) = found else { panic!("{found:?}") };
        assert_eq!((culprit.version, comparison.verdict.outcome), (23, Outcome::Slower));
    }

    #[test]
    fn an_interrupted_search_goes_on_where_it_was_without_measuring_again() {
        let mut state = state(40);
        let stopped = searched(&mut state, &mut fake(23, 0.1, 9));
        assert!(matches!(stopped, Err(Stop::Measure(MeasureError::Interrupted))));
        assert_eq!(state.measurements.len(), 9);
        let before = state.measurements.clone();
        let Ok(SearchOutcome::Sure(culprit, _)) = searched(&mut state, &mut fake(23, 0.1, 1000)) else {
            panic!("not sure");
        };
        assert_eq!(culprit.version, 23);
        assert_eq!(state.measurements[..9], before);
    }

    #[test]
    fn pairs_of_the_neighbours_are_kept_too() {
        let mut state = state(40);
        let mut whole = fake(23, 0.1, 1000);
        searched(&mut state, &mut whole).unwrap();
        let mut pairs = state.confirmation.clone().unwrap().pairs;
        assert!(pairs.len() >= 8);
        pairs.truncate(5);
        state.confirmation.as_mut().unwrap().pairs.clone_from(&pairs);
        searched(&mut state, &mut fake(23, 0.1, 1000)).unwrap();
        let again = state.confirmation.unwrap().pairs;
        assert_eq!(again[..5], pairs);
        assert!(again.len() > 5);
    }

    #[test]
    fn ends_that_are_the_same_end_the_search() {
        let mut steady = Fake { noise: 0.005, ..fake(5, 0.0, 5000) };
        let found = searched(&mut state(10), &mut steady);
        assert!(matches!(found, Ok(SearchOutcome::NoDifference(_))), "{found:?}");
    }

    #[test]
    fn no_more_is_measured_than_allowed() {
        let mut state = state(40);
        let limits = Limits { max_measurements: 7, ..LIMITS };
        let found =
            search(&mut state, limits, CompareSettings::default(), &mut fake(23, 0.1, 1000), &mut Silent);
        assert!(matches!(found, Ok(SearchOutcome::Unsure)));
        assert_eq!(state.measurements.len(), 7);
    }
}
