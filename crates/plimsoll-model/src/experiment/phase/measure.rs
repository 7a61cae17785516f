//! Measuring loads.

use super::{Phase, PhasePlace, PhaseType};
use crate::experiment::prelude::*;

/// Loads to measure: one, or several that run at once, each with figures of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`measure` is no load, expected the name of a load, or a list of names")]
pub enum MeasureLoads {
    /// One load.
    One(String),
    /// Several loads, which are started together; each goes on for its own length.
    Several(Vec<String>),
}

impl MeasureLoads {
    /// The loads, in order.
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(load) => std::slice::from_ref(load),
            Self::Several(loads) => loads,
        }
    }
}

impl MeasureLoads {
    /// Each is declared, and named once.
    pub(super) fn declared(&self, at: &PhasePlace<'_>, key: &str) -> Checked {
        let loads = self.all();
        if loads.is_empty() {
            return Err(problem(at.key(key), "there is no load to run", "the name of at least one load"));
        }
        for (place, load) in loads.iter().enumerate() {
            let here = match self {
                Self::One(_) => at.key(key),
                Self::Several(_) => [at.key(key), vec![place.into()]].concat(),
            };
            declared(load, &at.experiment.loads, "load", here.clone())?;
            if loads[..place].contains(load) {
                let message = format!("`{load}` is to run twice at once");
                return Err(problem(here, message, "each load once"));
            }
        }
        Ok(())
    }
}

impl PhaseType for MeasureLoads {
    fn check(&self, at: &PhasePlace<'_>) -> Checked {
        self.declared(at, "measure")?;
        let loads = self.all();
        let Phase { slices, most_slices, extend_for, until_delivered, .. } = at.phase;
        if let Some(most) = most_slices {
            in_range(u64::from(*most), u64::from(slices.unwrap_or(1)), 10_000, at.key("most_slices"))?;
        }
        if extend_for.is_some() && most_slices.is_none() {
            let message = "there is nothing to extend";
            return Err(problem(at.key("extend_for"), message, "it beside `most_slices`"));
        }
        if let Some(sink) = until_delivered {
            at.mail_sink(sink, at.key("until_delivered"))?;
            let is_mail = |load: &String| at.experiment.loads[load].kind.smtp().is_some();
            if !loads.iter().all(is_mail) {
                let message = "no mail is measured";
                return Err(problem(at.key("until_delivered"), message, "`measure` with a load of mail"));
            }
        }
        Ok(())
    }

    fn describe(&self, _phase: &Phase) -> String {
        format!("measure {}", self.all().join(" and "))
    }

    fn settings(&self) -> &'static [&'static str] {
        &["during", "slices", "most_slices", "extend_for", "warm_up", "until_delivered"]
    }

    fn records(&self, phase: &Phase) -> Vec<PhaseKind> {
        let warm_ups = (0..phase.warm_up.unwrap_or(0)).map(|_| PhaseKind::WarmUp);
        warm_ups.chain([PhaseKind::Measure]).collect()
    }

    fn loads(&self) -> &[String] {
        self.all()
    }

    fn measures(&self) -> &[String] {
        self.all()
    }
}
