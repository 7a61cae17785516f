//! Claims: statements that a run judges.
//!
//! `ClaimKind` is the interface of every kind; each kind specifies, checks and describes itself in the file of its name. How it is judged, and how
//! a report shows it, stand in files of the same name in the crates for that.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use super::open_loop::Arrivals;
use super::problem::{Checked, Part, Problem, declared, margin, measured, nearest, problem};
use super::{Experiment, Load, Metric, recorded_as};
use crate::units::Share;
use crate::verdict::Expected;

/// The list of all kinds of claims, handed to a macro of one's own: what has to know them all is made from it.
#[macro_export]
macro_rules! each_claim {
    ($then:ident) => {
        $then! {
            /// The figure comes back, or does not: after against baseline, adjusted by the control.
            recovery: Recovery(RecoveryClaim) finds RecoveryDetails,
            /// The load of a phase comes back after a step that is done meanwhile, or does not.
            step_recovery: StepRecovery(StepRecoveryClaim) finds StepRecoveryDetails,
            /// Two levels of a factor, or two cells, compare as expected.
            difference: Difference(DifferenceClaim) finds DifferenceDetails,
            /// Two factors act on each other, or do not.
            interaction: Interaction(InteractionClaim) finds InteractionDetails,
            /// A load that rises and falls meets the same figures on its way down as on its way up.
            hysteresis: Hysteresis(HysteresisClaim) finds HysteresisDetails,
            /// All mail that was acknowledged arrives, and none is spoiled.
            delivery: Delivery(DeliveryClaim) finds DeliveryDetails,
            /// The CPUs of a host behave as a queue that theory knows.
            load_curve: LoadCurve(LoadCurveClaim) finds LoadCurveDetails,
            /// TCP's rate over the loss of a path keeps to the formulas.
            loss_curve: LossCurve(LossCurveClaim) finds LossCurveDetails,
            /// The hops of a path can be distinguished.
            hops: Hops(HopsClaim) finds HopsDetails,
            /// A path is good enough for TCP at a rate and a round-trip time.
            diagnose: Diagnose(DiagnoseClaim) finds DiagnoseDetails,
            /// Datagrams are lost from an offered rate on.
            knee: Knee(KneeClaim) finds KneeDetails,
            /// A figure keeps to a bound; or a rate is the highest that holds a bound of latency.
            limit: Limit(LimitClaim) finds LimitDetails,
            /// Measurements gather in one place, or in several.
            modes: Modes(ModesClaim) finds ModesDetails,
            /// Share of reads that memory served, and share that reached the device.
            source: Source(SourceClaim) finds SourceDetails,
            /// The time of a messaging load grows in a known way with the number of its workers.
            growth: Growth(GrowthClaim) finds GrowthDetails,
            /// One level of a factor is the best, for each phase and each combination of the others' levels.
            winner: Winner(WinnerClaim) finds WinnerDetails,
        }
    };
}

/// Answers of a claim that its fields of these names give.
macro_rules! follows_from {
    (expect) => {
        fn expected(&self) -> Option<$crate::verdict::Expected> {
            Some(self.expect.into())
        }
    };
    (phase) => {
        fn phases_mut(&mut self) -> Vec<&mut String> {
            vec![&mut self.phase]
        }
    };
    (metric of $($phase:ident),+) => {
        fn metric_mut(&mut self) -> Option<&mut $crate::experiment::Metric> {
            Some(&mut self.metric)
        }

        fn figures(&self) -> Vec<(&str, $crate::experiment::Metric)> {
            vec![$((&self.$phase, self.metric)),+]
        }

        fn phases_mut(&mut self) -> Vec<&mut String> {
            vec![$(&mut self.$phase),+]
        }
    };
}

/// Answers of a claim that compares one figure of one phase between cells.
macro_rules! compares_one_figure {
    () => {
        follows_from!(expect);
        follows_from!(metric of phase);

        fn complete(&mut self, experiment: &$crate::experiment::Experiment, says: &dyn Fn(&str) -> bool) {
            $crate::experiment::claim::usual_metric(&mut self.metric, &self.phase, experiment, says);
        }

        fn compares_cells(&self) -> bool {
            true
        }
    };
}

/// The modules of the kinds, the claim as a file has it, and the way from it to its kind.
macro_rules! define {
    ($($(#[$of_kind:meta])* $key:ident: $kind:ident($claim:ident) finds $details:ident,)+) => {
        $(pub mod $key;)+

        $(pub use $key::*;)+

        kinds! {
            /// A claim to judge. Exactly one of the kinds is given.
            #[schemars(transform = with_load)]
            pub enum Claim, a table that is "the claim", read as ClaimTable {
                $($(#[$of_kind])* $key: $kind($claim),)+
            }
            beside load: String, taken in by of_load
        }

        impl Claim {
            /// The name of its kind, as in the file.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => stringify!($key),)+
                }
            }
        }

        impl Deref for Claim {
            type Target = dyn ClaimKind;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$kind(it) => it,)+
                }
            }
        }

        impl DerefMut for Claim {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $(Self::$kind(it) => it,)+
                }
            }
        }

        /// Details of a verdict, by the kind of its claim.
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
        #[serde(untagged)]
        pub enum Details {
            $(
                #[doc = concat!("Of a claim of the kind `", stringify!($key), "`.")]
                $kind($details),
            )+
        }

        impl Details {
            /// Reads what stands beside a verdict on a claim of a kind of this name.
            ///
            /// # Errors
            /// When there is no such kind, or this is no such thing.
            pub(crate) fn read(claim: &str, value: ::serde_json::Value) -> Result<Self, ::serde_json::Error> {
                match claim {
                    $(stringify!($key) => ::serde_json::from_value(value).map(Self::$kind),)+
                    other => Err(::serde::de::Error::custom(format!("there is no claim of the kind `{other}`"))),
                }
            }
        }

        $(
            impl From<$details> for Details {
                fn from(it: $details) -> Self {
                    Self::$kind(it)
                }
            }
        )+
    };
}

each_claim!(define);

/// Interface of every kind of claim.
pub trait ClaimKind {
    /// Whether it makes sense in its experiment.
    fn check(&self, at: &ClaimPlace<'_>) -> Checked;

    /// The claim in a sentence, with the expected outcome, so that a reader knows when it holds.
    fn describe(&self) -> String;

    /// Expected outcome; absent for a kind whose outcome has no sides.
    fn expected(&self) -> Option<Expected> {
        None
    }

    /// The measured phases that it is about, each with the figure.
    fn figures(&self) -> Vec<(&str, Metric)> {
        Vec::new()
    }

    /// The figure, to be filled in with what the program of its load says of it.
    fn metric_mut(&mut self) -> Option<&mut Metric> {
        None
    }

    /// The figures by which two runs can be compared.
    fn between_runs(&self) -> Vec<(&str, Metric)> {
        self.figures()
    }

    /// The phases that it is about, to be changed.
    fn phases_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }

    /// Fills in what the file leaves out because it follows from the rest of it. `says` says whether the file has a key of this claim.
    fn complete(&mut self, _experiment: &Experiment, _says: &dyn Fn(&str) -> bool) {}

    /// Whether it compares cells with each other.
    fn compares_cells(&self) -> bool {
        false
    }
}

/// The schema of a claim, each kind of which may stand beside the name of a load.
fn with_load(schema: &mut schemars::Schema) {
    let Some(kinds) = schema.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut()) else { return };
    for kind in kinds {
        let Some(keys) = kind.get_mut("properties").and_then(|keys| keys.as_object_mut()) else { continue };
        let what = "Which of the loads that the phase measures at once it is about.";
        keys.insert("load".to_owned(), serde_json::json!({ "type": "string", "description": what }));
    }
}

impl Claim {
    /// Restricts the claim to one of the loads that its phases measure at once.
    fn of_load(&mut self, load: &str) {
        for phase in self.phases_mut() {
            *phase = recorded_as(phase, load);
        }
    }

    pub(super) fn complete(&mut self, experiment: &Experiment, says: &dyn Fn(&str) -> bool) {
        self.deref_mut().complete(experiment, says);
        let load = self.figures().first().and_then(|(phase, _)| experiment.load_of(phase));
        if let Some(load) = load
            && let Some(metric) = self.metric_mut()
        {
            *metric = load.kind.completed(*metric);
        }
    }

    /// Whether it makes sense as the claim of this number, from 0.
    pub(super) fn check(
        &self,
        experiment: &Experiment,
        index: usize,
        phases: &BTreeMap<String, Option<&str>>,
    ) -> Checked {
        let at = ClaimPlace { experiment, phases, index, kind: self.name() };
        self.deref().check(&at)?;
        self.figures().into_iter().try_for_each(|(phase, metric)| at.has_figure(phase, metric))
    }
}

/// Where a claim stands.
pub struct ClaimPlace<'e> {
    experiment: &'e Experiment,
    /// The phases, each with the load that it measures.
    phases: &'e BTreeMap<String, Option<&'e str>>,
    index: usize,
    kind: &'static str,
}

impl<'e> ClaimPlace<'e> {
    /// The claim itself.
    fn here(&self) -> [Part; 3] {
        path!["claims", self.index, self.kind]
    }

    /// One of its keys.
    fn key(&self, key: &str) -> [Part; 4] {
        path!["claims", self.index, self.kind, key]
    }

    /// An element of a list.
    fn element(&self, key: &str, place: usize) -> [Part; 5] {
        path!["claims", self.index, self.kind, key, place]
    }

    /// A phase that measures, named by a key.
    fn phase(&self, key: &str, phase: &str) -> Checked {
        measured(phase, self.phases, self.key(key))
    }

    /// The load of a phase that measures, named by the key `phase`.
    fn load(&self, phase: &str) -> Result<Option<&'e Load>, Problem> {
        self.phase("phase", phase)?;
        Ok(self.load_of(phase))
    }

    fn load_of(&self, phase: &str) -> Option<&'e Load> {
        self.experiment.loads.get(self.phases.get(phase).copied().flatten()?)
    }

    /// A share of more than 0 and less than 1.
    fn margin(&self, key: &str, share: Share) -> Checked {
        margin(share.0, self.key(key))
    }

    /// A factor that is declared.
    fn factor(&self, factor: &str, here: impl Into<Vec<Part>>) -> Checked {
        declared(factor, &self.experiment.factors, "factor", here)
    }

    /// The factors, by the key `over`, whose levels are points of a curve.
    fn points(&self, over: &[String]) -> Checked {
        if over.is_empty() {
            let expected = "the name of at least one factor";
            return Err(problem(self.key("over"), "a curve needs points", expected));
        }
        (0..).zip(over).try_for_each(|(place, factor)| self.factor(factor, self.element("over", place)))
    }

    /// Metrics of a whole phase can be compared; a share of stalls only where packets are captured.
    fn of_whole_phase(&self, phase: &str, metric: Metric) -> Checked {
        let is_captured = || self.experiment.capture.as_ref().is_some_and(|capture| capture.is_in(phase));
        if metric != Metric::StallShare || is_captured() {
            return Ok(());
        }
        Err(problem(
            self.key("metric"),
            "`stall_share` comes from packets, and none are captured in this phase",
            "[capture] in the file, with this phase among its `phases`",
        ))
    }

    /// Metrics of parts of a phase can be compared by ratio.
    fn of_slices(&self, metric: Metric) -> Checked {
        let (message, expected) = if metric == Metric::StallShare {
            ("`stall_share` is known of a whole phase, and not of its parts", "another metric")
        } else if metric.is_share() {
            ("this claim compares by ratio, and a share may be 0", "a metric that is not a share")
        } else {
            return Ok(());
        };
        let expected = format!("{expected}, or a claim of kind `difference` or `interaction`");
        Err(problem(self.key("metric"), message, expected))
    }

    /// The load of the phase has the figure.
    fn has_figure(&self, phase: &str, metric: Metric) -> Checked {
        let Some((name, load)) = self.phases.get(phase).copied().flatten().zip(self.load_of(phase)) else {
            return Ok(());
        };
        if load.kind.has(metric) {
            return Ok(());
        }
        let all = Metric::all().chain(load.kind.named());
        let has: Vec<&str> = all.filter(|metric| load.kind.has(*metric)).map(Metric::name).collect();
        let expected = has.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let found = problem(
            self.key("metric"),
            format!("the load `{name}` of the phase `{phase}` has no `{}`", metric.name()),
            format!("one of {expected}"),
        );
        Err(Problem { nearest: nearest(metric.name(), has), ..found })
    }
}

/// Chooses the usual metric of the load of a phase, unless the file names one.
fn usual_metric(metric: &mut Metric, phase: &str, experiment: &Experiment, says: &dyn Fn(&str) -> bool) {
    if !says("metric") {
        *metric = experiment.usual_metric(phase).unwrap_or(*metric);
    }
}

/// How many different steps a load has whose requests come at random.
fn random_steps(load: Option<&Load>) -> usize {
    let open = load.and_then(|load| load.kind.http()?.open.as_ref());
    let random = open.filter(|open| open.arrivals == Arrivals::Poisson);
    let mut steps = random.map_or_else(Vec::new, |open| open.steps.clone());
    steps.sort_unstable_by(f64::total_cmp);
    steps.dedup();
    steps.len()
}

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, Settings};

    const TEXT: &str = r#"
question = "which?"
[hosts.a]
[services.web]
on = "a"
web = {}
[loads.some]
from = "a"
to = "web"
http = { connections = 10 }
[factors.clients]
set = "services.web.web.clients"
levels = [1, 2]
[[phases]]
name = "all"
measure = "some"
[[claims]]
"#;

    fn words(claim: &str) -> String {
        let plan = Plan::read("test", &format!("{TEXT}{claim}\n"), &Settings::default()).unwrap();
        plan.experiment.claims[0].describe()
    }

    #[test]
    fn each_expectation_has_words_of_its_own() {
        let difference =
            |more: &str| words(&format!("difference = {{ phase = \"all\", factor = \"clients\"{more} }}"));
        let default = "connections_per_second in all is not worse, at every other level of clients against the first: \
                       better, or worse by less than 2 %";
        assert_eq!(difference(""), default);
        let all = ["not_slower", "same", "faster", "slower", "any"];
        let descriptions: std::collections::BTreeSet<String> =
            all.iter().map(|expect| difference(&format!(", expect = \"{expect}\""))).collect();
        assert_eq!(descriptions.len(), all.len(), "{descriptions:?}");
    }

    #[test]
    fn a_bound_is_written_as_the_file_has_it() {
        let description = words(r#"limit = { metric = "p99_ms", below = "50ms" }"#);
        assert_eq!(description, "p99_ms in all lies below 50ms");
    }
}
