//! `load-curve`: load against utilisation.

use crate::input::JudgeError;
use crate::json::table::Table;
use crate::json::{Judgement, Request};
use crate::models::load_curve::{Form, LoadCurve, LoadPoint, NoQueue, fit_load_curve};
use plimsoll_model::numbers::{Curve, Numbers};
use serde::Deserialize;

/// `{"id", "rows": [{"utilisation", "load", "users"}], "cpus", "users", "metric"}`; one processor unless `cpus` says more, and jobs that come by
/// themselves unless `users` says who makes them.
#[derive(Debug, Deserialize)]
pub(in crate::json) struct LoadCurveRequest {
    rows: Vec<LoadPoint>,
    cpus: Option<usize>,
    users: Option<f64>,
    metric: Option<String>,
}

impl Request for LoadCurveRequest {
    /// Columns `utilisation` and `load` (or the only two), `cpus` where there is more than one processor, and `users` where a fixed number of
    /// them made the load. A utilisation above 1 shows that all are per cent.
    fn from_table(table: &Table<'_>) -> Result<Self, JudgeError> {
        let rows = table.whole_rows(["utilisation", "load"], &["cpus", "users"])?;
        let users =
            table.place("users").map(|_| table.whole_rows(["users"], &["utilisation", "load", "cpus"]));
        let users = users.transpose()?.unwrap_or_default();
        let cpus = table
            .place("cpus")
            .map(|_| one_count(&table.whole_rows(["cpus"], &["utilisation", "load", "users"])?));
        let unit = if rows.iter().any(|[utilisation, _]| *utilisation > 1.0) { 100.0 } else { 1.0 };
        let point = |(i, [utilisation, load]): (usize, [f64; 2])| LoadPoint {
            utilisation: utilisation / unit,
            load,
            users: users.get(i).map(|[users]| *users),
        };
        Ok(Self {
            rows: rows.into_iter().enumerate().map(point).collect(),
            cpus: cpus.transpose()?,
            users: None,
            metric: None,
        })
    }

    fn judge(self) -> Result<Judgement, JudgeError> {
        let curve = self.fit()?;
        Ok(Judgement::new(curve.verdict(self.metric.as_deref().unwrap_or("load")), &curve))
    }

    fn numbers(&self) -> Result<Numbers, JudgeError> {
        let found = self.fit()?;
        let queues = found.fits.iter().map(|fit| (fit.name.clone(), fit.drawn(found.cpus)));
        let name = |form| match form {
            Form::Level | Form::Line => "a straight line",
            Form::Exponential => "an exponential",
        };
        let drawn = |curve: NoQueue| {
            let at = |i: u32| [f64::from(i) / 20.0, curve.load(f64::from(i) / 20.0)];
            (name(curve.form).to_owned(), (0..=20).map(at).collect())
        };
        let other = found.no_queue.map(drawn);
        let percent = |(name, curve): (String, Vec<[f64; 2]>)| {
            (name, curve.into_iter().map(|[used, load]| [100.0 * used, load]).collect())
        };
        Ok(Numbers::Curve(Curve {
            x: "CPU time used, %".into(),
            y: self.metric.clone().unwrap_or_else(|| "load".into()),
            logarithmic: [false, true],
            legend: "measured",
            points: self.rows.iter().map(|row| [100.0 * row.utilisation, row.load]).collect(),
            curves: other.into_iter().chain(queues).map(percent).collect(),
        }))
    }
}

impl LoadCurveRequest {
    fn fit(&self) -> Result<LoadCurve, JudgeError> {
        let with_users = |row: &LoadPoint| LoadPoint { users: row.users.or(self.users), ..*row };
        let rows: Vec<LoadPoint> = self.rows.iter().map(with_users).collect();
        fit_load_curve(&rows, self.cpus.unwrap_or(1))
    }
}

/// The number of processors, the same in every row.
fn one_count(cpus: &[[f64; 1]]) -> Result<usize, JudgeError> {
    match cpus {
        [[first], rest @ ..]
            if rest.iter().all(|[c]| c == first) && first.fract() == 0.0 && (1.0..1e6).contains(first) =>
        {
            Ok(*first as usize)
        }
        _ => Err(JudgeError::Table("`cpus` must be the same whole number, 1 or more, in every row".into())),
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{Test, TextOptions, judge_text};

    #[test]
    fn a_table_of_per_cent_is_judged_as_one_of_parts() {
        let judged = |unit: f64| {
            let row = |u: f64| format!("{} {}\n", u * unit, u / (1.0 - u));
            let rows: String = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9].map(row).concat();
            judge_text(Test::LoadCurve, format!("cpu load\n{rows}"), TextOptions::default()).unwrap()
        };
        assert_eq!(judged(1.0), judged(100.0));
    }
}
