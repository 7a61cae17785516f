//! The claims about bounds: that a figure keeps to one, or how high a rate holds one of latency.

mod details;
mod settings;

pub use self::details::*;
use self::settings::LimitSettings;
use super::{ClaimKind, ClaimPlace, random_steps};
use crate::experiment::open_loop::check_rate;
use crate::experiment::prelude::*;
use crate::experiment::{Experiment, Phase};
use crate::units::UnitError;

/// A bound that a figure keeps to, or the highest rate that holds a bound of latency; the other keys decide which. With `metric` and
/// `below` or `above` it is about a measured phase, with `at_most` about a phase that searches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "LimitSettings", into = "LimitSettings")]
#[schemars(with = "LimitSettings")]
pub enum LimitClaim {
    /// About a phase that searches.
    Search(SearchClaim),
    /// About a phase that is measured.
    Bound(BoundClaim),
}

/// The highest rate at which enough requests are answered in time. A failed request is not in time. Outcomes: `reached` or
/// `not_reached` where `at_least` is given, else `estimated`.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchClaim {
    /// The phase that searches.
    pub phase: String,
    /// The longest that a request may take, from when it was due.
    pub at_most: Span,
    /// The share of requests of which that holds (more than 0, less than 1).
    pub share: Share,
    /// The rate that is wanted, in requests per second; without it the limit is only found.
    pub at_least: Option<f64>,
    /// How far the interval may reach from the limit, as a share of it (more than 0, less than 1).
    pub precision: Share,
    /// Predict the limit from light load as well, and show both.
    pub predict: Option<Predict>,
    /// Expected outcome.
    pub expect: SearchExpect,
}

/// A figure of a measured phase lies below a bound, or above it. Outcomes: `held` where its whole interval does, `not_held` where none of it
/// does, else `undecided`.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundClaim {
    /// The measured phase.
    pub phase: String,
    /// The figure.
    pub metric: Metric,
    /// Where it is to lie.
    pub side: Side,
    /// The bound, as the file has it.
    pub bound: Amount,
    /// Expected outcome.
    pub expect: BoundExpect,
}

/// On which side of a bound a figure is to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Side {
    /// Below it.
    Below,
    /// Above it.
    Above,
}

impl Side {
    /// The key in the file, and the word.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An amount of something, the unit of which follows from the metric: `"50ms"`, `"1 %"`, `"200 MB/s"`, or a bare number where the metric
/// has no unit that could be mistaken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "this is no amount, expected a number such as 1000, or one with its unit such as \"50ms\""
)]
pub enum Amount {
    /// A bare number.
    Number(f64),
    /// A number with its unit.
    Text(String),
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl BoundClaim {
    /// The bound in the unit of the metric.
    ///
    /// # Errors
    /// When it is no amount of that unit.
    pub fn value(&self) -> Result<f64, UnitError> {
        self.metric.unit().parse(&self.bound.to_string())
    }
}

impl LimitClaim {
    /// The phase that it is about.
    pub fn phase(&self) -> &str {
        match self {
            Self::Search(claim) => &claim.phase,
            Self::Bound(claim) => &claim.phase,
        }
    }

    /// The phase's name, for a default where the file leaves it out.
    fn phase_mut(&mut self) -> &mut String {
        match self {
            Self::Search(claim) => &mut claim.phase,
            Self::Bound(claim) => &mut claim.phase,
        }
    }

    /// The claim about a search, where it is one.
    pub fn search(&self) -> Option<&SearchClaim> {
        match self {
            Self::Search(claim) => Some(claim),
            Self::Bound(_) => None,
        }
    }

    /// The claim about a bound, where it is one.
    pub fn bound(&self) -> Option<&BoundClaim> {
        match self {
            Self::Search(_) => None,
            Self::Bound(claim) => Some(claim),
        }
    }
}

/// How to predict a limit from load that is far below it. The service is taken as a queue; how long it works for a request follows from the mean
/// response times at the steps, and the limit from a simulation of that queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Predict {
    /// The measured phase whose load has at least three different `open.steps` and `arrivals = "poisson"`, and aims where the search aims.
    pub from: String,
    /// How many requests are worked on at a time: the CPUs, or fewer where the service has fewer processes (1 to 1024).
    #[serde(default = "crate::units::number::<1>")]
    pub servers: u32,
    /// Order of service while more requests than that are there.
    #[serde(default)]
    pub discipline: Serving,
}

impl Predict {
    /// The fewest different steps that show how far the prediction can be trusted.
    pub const LEAST_STEPS: usize = 3;
}

/// Order of service while more requests than servers are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Serving {
    /// First come, first served: one process that takes request after request.
    #[default]
    Queue,
    /// All in short turns: a process for each request, under the scheduler.
    Shared,
}

impl SearchClaim {
    /// The share of requests that are in time, unless the claim says otherwise.
    const SHARE: Share = Share(0.95);
    /// How far the interval may reach, unless the claim says otherwise.
    const PRECISION: Share = Share(0.1);
}

expectations! {
    /// Expected outcome of a search for a limit.
    SearchExpect {
        /// The bound is held up to the rate that is wanted; where none is, the limit is found.
        Reached "reached": Reached | Estimated,
        /// The bound breaks below that rate.
        NotReached "not_reached": NotReached,
    }
}

expectations! {
    /// Expected outcome for a bound.
    BoundExpect {
        /// The figure keeps to it.
        Held "held": Held,
        /// The bound breaks.
        NotHeld "not_held": NotHeld,
    }
}

impl ClaimKind for LimitClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        if self.phase().is_empty() {
            let (what, all): (_, Vec<String>) = match self {
                Self::Search(_) => ("that searches", searching(at.experiment).into_keys().collect()),
                Self::Bound(_) => {
                    let measuring = at.phases.iter().filter(|(_, load)| load.is_some());
                    ("that is measured", measuring.map(|(name, _)| name.clone()).collect())
                }
            };
            return Err(problem(
                at.here(),
                "the limit does not say which phase it is about",
                format!("`phase`, the name of one {what}: {}", all.join(", ")),
            ));
        }
        match self {
            Self::Search(claim) => claim.check(at),
            Self::Bound(claim) => claim.check(at),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Search(claim) => claim.describe(),
            Self::Bound(claim) => claim.describe(),
        }
    }

    fn expected(&self) -> Option<Expected> {
        Some(match self {
            Self::Search(claim) => claim.expect.into(),
            Self::Bound(claim) => claim.expect.into(),
        })
    }

    fn metric_mut(&mut self) -> Option<&mut Metric> {
        match self {
            Self::Search(_) => None,
            Self::Bound(claim) => Some(&mut claim.metric),
        }
    }

    fn figures(&self) -> Vec<(&str, Metric)> {
        self.bound().map(|claim| (claim.phase.as_str(), claim.metric)).into_iter().collect()
    }

    fn complete(&mut self, experiment: &Experiment, _says: &dyn Fn(&str) -> bool) {
        if self.phase().is_empty() {
            *self.phase_mut() = only_phase(experiment, self.search().is_some()).unwrap_or_default();
        }
    }

    fn phases_mut(&mut self) -> Vec<&mut String> {
        vec![self.phase_mut()]
    }
}

/// The only phase that searches, or that measures; `None` if there are several.
fn only_phase(experiment: &Experiment, searches: bool) -> Option<String> {
    let is_meant = |phase: &&Phase| {
        if searches { phase.kind.search().is_some() } else { phase.measured_load().is_some() }
    };
    let mut phases = experiment.all_phases().filter(is_meant);
    let only = phases.next()?;
    phases.next().is_none().then(|| only.name.clone())
}

/// The phases that search.
fn searching(experiment: &Experiment) -> BTreeMap<String, ()> {
    let phases = experiment.all_phases().filter(|phase| phase.kind.search().is_some());
    phases.map(|phase| (phase.name.clone(), ())).collect()
}

impl BoundClaim {
    /// Checks that the bound has the unit of the figure.
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        at.phase("phase", &self.phase)?;
        // A mistyped metric has no unit, and is the mistake to name.
        at.has_figure(&self.phase, self.metric)?;
        self.value().map(|_| ()).map_err(|error| {
            let message = format!("`{}` is no amount of `{}`", self.bound, self.metric.name());
            problem(at.key(self.side.name()), message, error.expected())
        })
    }

    fn describe(&self) -> String {
        let lies = match self.expect {
            BoundExpect::Held => "lies",
            BoundExpect::NotHeld => "does not lie",
        };
        format!("{} in {} {lies} {} {}", self.metric.name(), self.phase, self.side.name(), self.bound)
    }
}

impl SearchClaim {
    fn check(&self, at: &ClaimPlace<'_>) -> Checked {
        declared(&self.phase, &searching(at.experiment), "phase with `search`", at.key("phase"))?;
        if self.at_most.0.is_zero() {
            let expected = "a length of time of more than 0";
            return Err(problem(at.key("at_most"), "no request takes no time", expected));
        }
        at.margin("share", self.share)?;
        at.margin("precision", self.precision)?;
        if let Some(predict) = &self.predict {
            self.check_prediction(predict, at)?;
        }
        self.at_least.map_or(Ok(()), |rate| check_rate(rate, at.key("at_least")))
    }

    /// The load behind a prediction asks the same service as the search.
    fn check_prediction(&self, predict: &Predict, at: &ClaimPlace<'_>) -> Checked {
        let here = |key: &str| [at.key("predict").as_slice(), &path![key]].concat();
        measured(&predict.from, at.phases, here("from"))?;
        let light = at.load_of(&predict.from);
        in_range(u64::from(predict.servers), 1, 1024, here("servers"))?;
        if random_steps(light) < Predict::LEAST_STEPS {
            return Err(problem(
                here("from"),
                "the load of this phase does not show how response times begin to grow",
                "a load with at least three different `open.steps` and `open.arrivals = \"poisson\"`",
            ));
        }
        let searching = at.experiment.all_phases().find(|phase| phase.name == self.phase);
        let search = searching.and_then(|phase| at.experiment.loads.get(&phase.kind.search()?.load));
        if light.map(|load| &load.to) != search.map(|load| &load.to) {
            return Err(problem(
                here("from"),
                format!("`{}` and `{}` ask different services", predict.from, self.phase),
                "a phase whose load aims where that of the search aims",
            ));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let bound =
            format!("{} of requests are answered within {}, in {}", self.share, self.at_most, self.phase);
        match (self.at_least, self.expect) {
            (None, _) => format!("the highest rate at which {bound}, is found"),
            (Some(rate), SearchExpect::Reached) => format!("at {rate} requests/s {bound}"),
            (Some(rate), SearchExpect::NotReached) => {
                format!("it is not so that at {rate} requests/s {bound}")
            }
        }
    }
}
