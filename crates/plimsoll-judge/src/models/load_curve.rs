//! Load against utilisation: which queue do the processors look like?
//!
//! The load average counts jobs that run or wait, so in the long run it is the mean number in the system: ρ/(1-ρ) for one queue with
//! one server (M/M/1), cρ + C(c, cρ)·ρ/(1-ρ) for one queue with c servers (M/M/c; C is Erlang's formula of 1917), and cρ/(1-ρ) for c
//! queues with one server each. Errors are measured on ln(1 + load), which for M/M/1 is -ln(1-ρ): near saturation a small error
//! of utilisation is a large one of load.
//!
//! A queue that was watched for some time had a mean length that is not the one of the long run. For M/M/1 the variance of that mean is
//! 2ρ(1+ρ)/((1-ρ)⁴μT) after a time T (Reynolds 1975, Whitt 1989, *Planning queueing simulations*), so that on ln(1 + load) it goes with
//! ρ(1+ρ)/(1-ρ)²: a point at 88 % is 17 times as uncertain as one at 20 %, as long as both were watched for as long. Points are weighed by that,
//! beside an uncertainty that all of them share; otherwise chance at the busiest ones hides what the others tell.
//!
//! Where a fixed number N of users makes the load, each of whom waits for an answer and then thinks, the queue cannot grow beyond N: the
//! machine repairman of one server (M/M/1//N) or c of them (M/M/c//N; Gross & Harris, *Fundamentals of Queueing Theory*, chapter 2). Given N,
//! utilisation alone says its load. Where N is not given, the best one is looked for, but only for points that no open queue describes as well.
//!
//! Points are called a queue only where a queue describes them better than a straight line does, whatever its height and slope, and where what
//! they are off by has no order of its own.

use super::structure::structure;
use super::{aicc, least_squares, without};
use crate::input::JudgeError;
use crate::wording::{figure, p_value, percent};
use plimsoll_model::verdict::{Outcome, Verdict};
use serde::{Deserialize, Serialize};

/// A model whose criterion is at most this much worse than the best is not ruled out (Burnham & Anderson 2002).
const TELLS: f64 = 4.0;
/// A fit is believed when its residuals, on ln(1 + load), stay below this.
const BELIEVED: f64 = 0.25;
/// The uncertainty that all points share, as the utilisation at which that of the queue's own is as large.
const EVEN: f64 = 0.5;
/// The fewest points that can tell models apart.
const LEAST_POINTS: usize = 5;
/// Residuals that are this unlikely to stand in such an order by chance have a structure ...
const ORDERED: f64 = 0.01;
/// ... which is told from here on, on ln(1 + load).
const STRUCTURE: f64 = 0.08;
/// The most users of a closed queue whose number is looked for, as a multiple of the largest load: with more of them the queue is as good as open.
const MOST_USERS: f64 = 8.0;
/// The most users that a closed queue may have.
const USERS: f64 = 1e5;

/// One measured point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// The share of all processors' time that was used, from 0 to below 1.
    pub utilisation: f64,
    /// The mean number of jobs that ran or waited.
    pub load: f64,
    /// How many users there were, each with one job at most; absent where jobs came by themselves, or that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<f64>,
}

/// A queueing model of `c` processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// One queue, one server as fast as all processors together.
    Single,
    /// One queue that all processors serve.
    Shared,
    /// A queue of its own for each processor.
    Separate,
}

impl Queue {
    /// The usual name, such as `M/M/2`.
    #[must_use]
    pub fn name(self, cpus: usize) -> String {
        match self {
            Self::Single => "M/M/1".into(),
            Self::Shared => format!("M/M/{cpus}"),
            Self::Separate => format!("{cpus} x M/M/1"),
        }
    }

    /// The mean number in the system at a utilisation while `users` have one job each at most; queues of their own have equal shares of them.
    #[must_use]
    pub fn closed_load(self, utilisation: f64, cpus: usize, users: usize) -> f64 {
        match self {
            Self::Single => closed_load(1, users, utilisation),
            Self::Shared => closed_load(cpus, users, utilisation),
            Self::Separate => cpus as f64 * closed_load(1, users.div_ceil(cpus), utilisation),
        }
    }

    /// The mean number in the system at a utilisation from 0 to below 1; infinite from 1 on.
    #[must_use]
    pub fn load(self, utilisation: f64, cpus: usize) -> f64 {
        if utilisation >= 1.0 {
            return f64::INFINITY;
        }
        let c = cpus as f64;
        let odds = utilisation / (1.0 - utilisation);
        match self {
            Self::Single => odds,
            Self::Shared => c * utilisation + erlang_c(cpus, c * utilisation) * odds,
            Self::Separate => c * odds,
        }
    }
}

/// The mean number of jobs at `servers` that are used to this share while `users` have one job each at most (the machine repairman).
#[must_use]
pub fn closed_load(servers: usize, users: usize, utilisation: f64) -> f64 {
    let all = users as f64;
    if utilisation <= 0.0 {
        return 0.0;
    }
    // With fewer users than servers, all of them are served at once.
    if utilisation * servers as f64 >= all {
        return all;
    }
    // The busy share rises with the time that a job takes over the time that a user thinks.
    let (mut low, mut high) = (-30.0_f64, 30.0_f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if repairman(servers, users, middle.exp()).1 < utilisation { low = middle } else { high = middle }
    }
    repairman(servers, users, f64::midpoint(low, high).exp()).0
}

/// The mean number of jobs and the busy share of the servers, for a service that takes `ratio` times as long as a user thinks: the probability of
/// n + 1 jobs is that of n times (users - n)·ratio / min(n + 1, servers).
fn repairman(servers: usize, users: usize, ratio: f64) -> (f64, f64) {
    const LARGE: f64 = 1e200;
    let (mut chance, mut sum, mut jobs, mut busy) = (1.0, 1.0, 0.0, 0.0);
    for n in 0..users {
        let serving = (n + 1).min(servers) as f64;
        chance *= (users - n) as f64 * ratio / serving;
        sum += chance;
        jobs += chance * (n + 1) as f64;
        busy += chance * serving;
        if sum > LARGE {
            [&mut chance, &mut sum, &mut jobs, &mut busy].into_iter().for_each(|value| *value /= LARGE);
        }
    }
    (jobs / sum, busy / sum / servers as f64)
}

/// The chance that a job must wait at `servers` offered `traffic` erlangs, below `servers` (Erlang 1917), by the recursion of Erlang B.
#[must_use]
pub fn erlang_c(servers: usize, traffic: f64) -> f64 {
    let blocking = (1..=servers).fold(1.0, |b, k| traffic * b / (k as f64 + traffic * b));
    let utilisation = traffic / servers as f64;
    blocking / (1.0 - utilisation * (1.0 - blocking))
}

/// One model fitted to the points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueFit {
    /// The model.
    pub queue: Queue,
    /// Its usual name.
    pub name: String,
    /// Where the users make the load, and wait for their answers: how many of them there are at most; absent for jobs that come by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<usize>,
    /// Load that is there without any work; 0 where it does not pay to assume one.
    pub background: f64,
    /// Akaike's corrected criterion; lower is better.
    pub aicc: f64,
    /// The leave-one-out error, a weighed root mean square on ln(1 + load).
    pub left_out_error: f64,
    /// Measured minus modelled ln(1 + load), in the order of the points.
    pub residuals: Vec<f64>,
}

impl QueueFit {
    /// Pairs of utilisation and load on the curve, to be drawn: up to where the load of an open queue leaves every chart.
    #[must_use]
    pub fn drawn(&self, cpus: usize) -> Vec<[f64; 2]> {
        const POINTS: u32 = 60;
        const UP_TO: f64 = 0.97;
        let at = |i: u32| {
            let utilisation = f64::from(i) / f64::from(POINTS) * UP_TO;
            let load = match self.users {
                Some(users) => self.queue.closed_load(utilisation, cpus, users),
                None => self.queue.load(utilisation, cpus),
            };
            [utilisation, load + self.background]
        };
        (0..=POINTS).map(at).collect()
    }
}

/// The fits of all models, the best first, and what follows from the best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadCurve {
    /// The fits by rising criterion.
    pub fits: Vec<QueueFit>,
    /// The number of processors.
    pub cpus: usize,
    /// The utilisation at which 10 % more work at least doubles the response time; absent where users wait for their answers, so that there is no
    /// more work than they make, and where no queue describes the points.
    pub hurts_at_utilisation: Option<f64>,
    /// The load there.
    pub hurts_at_load: Option<f64>,
    /// By how much 10 % more work than at the busiest point would lengthen the response time; absent when it would not fit at all.
    pub next_tenth: Option<f64>,
    /// What the best model is off by: a weighed root mean square on ln(1 + load).
    pub error: f64,
    /// A straight line that describes the points better than any queue does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<Line>,
    /// The chance that residuals of a queue stand in such an order, and how large what the order tells is, on ln(1 + load).
    pub structure: Order,
    /// How many points there are.
    pub n: usize,
}

/// `level + slope · utilisation`: what a load does that is no queue's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The load of an idle machine.
    pub level: f64,
    /// How much the load rises up to full utilisation; 0 where it does not depend on it.
    pub slope: f64,
    /// What it is off by: a weighed root mean square on ln(1 + load).
    pub error: f64,
}

/// What the order of residuals by utilisation says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Order {
    /// The chance of such an order where there is none.
    pub p: f64,
    /// A root mean square on ln(1 + load).
    pub size: f64,
}

impl Order {
    /// Whether it is more than chance, and worth a word.
    fn is_told(&self) -> bool {
        self.p < ORDERED && self.size > STRUCTURE
    }
}

/// Fits the models to points of a machine with `cpus` processors.
///
/// # Errors
/// Too few points, a utilisation outside of 0 to below 1, a load below 0 or above the number of users, or no processor.
pub fn fit_load_curve(points: &[LoadPoint], cpus: usize) -> Result<LoadCurve, JudgeError> {
    check(points, cpus)?;
    let queues: &[Queue] =
        if cpus == 1 { &[Queue::Single] } else { &[Queue::Single, Queue::Shared, Queue::Separate] };
    let model = |queue, users| Model { queue, cpus, users };
    let mut fits: Vec<QueueFit> =
        queues.iter().map(|&queue| fit(model(queue, Users::Open), points)).collect();
    let repaired = || queues.iter().copied().filter(|queue| *queue != Queue::Separate);
    if points.iter().any(|point| point.users.is_some()) {
        fits.extend(repaired().map(|queue| fit(model(queue, Users::Given), points)));
    } else {
        let open = fits.iter().map(|fit| fit.aicc).fold(f64::INFINITY, f64::min);
        let found = repaired().filter_map(|queue| closed(queue, points, cpus));
        fits.extend(found.filter(|fit| fit.aicc < open - TELLS));
    }
    fits.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
    let best = &fits[0];
    let error = spread(&best.residuals, points);
    let found = structure(&by_utilisation(points, &best.residuals), 1);
    let order = Order { p: found.p, size: found.size };
    let line = line(points).filter(|(_, aicc)| *aicc < best.aicc).map(|(line, _)| line);
    // What is no queue has no place where it begins to hurt.
    let is_open = best.users.is_none() && line.is_none() && error <= BELIEVED && !order.is_told();
    let load = |u: f64| best.queue.load(u, cpus);
    let response = |u: f64| (load(u) + best.background) / u;
    let hurts_at_utilisation = is_open.then(|| first_doubling(|u| load(u) / u));
    let busiest = points.iter().map(|p| p.utilisation).fold(0.0, f64::max);
    let more = is_open && busiest > 0.0 && 1.1 * busiest < 1.0;
    Ok(LoadCurve {
        cpus,
        hurts_at_utilisation,
        hurts_at_load: hurts_at_utilisation.map(|u| load(u) + best.background),
        next_tenth: more.then(|| response(1.1 * busiest) / response(busiest)),
        error,
        line,
        structure: order,
        n: points.len(),
        fits,
    })
}

/// Residuals beside the utilisation at which they are, those at busy points as much smaller as they are more uncertain.
fn by_utilisation(points: &[LoadPoint], residuals: &[f64]) -> Vec<(f64, f64)> {
    points
        .iter()
        .zip(residuals)
        .map(|(point, residual)| (point.utilisation, weight(point).sqrt() * residual))
        .collect()
}

/// A level, or a sloping line where the points need one, with its criterion.
fn line(points: &[LoadPoint]) -> Option<(Line, f64)> {
    let weights: Vec<f64> = points.iter().map(|point| weight(point) / (1.0 + point.load).powi(2)).collect();
    let values: Vec<f64> = points.iter().map(|point| point.load).collect();
    let level =
        least_squares::weighted(&vec![[1.0]; points.len()], &values, &weights).map(|[level]| [level, 0.0]);
    let columns: Vec<[f64; 2]> = points.iter().map(|point| [1.0, point.utilisation]).collect();
    let sloped = least_squares::weighted(&columns, &values, &weights);
    let judged = |found: Option<[f64; 2]>, parameters: usize| {
        let [level, slope] = found?;
        let off =
            |point: &LoadPoint| point.load.ln_1p() - (level + slope * point.utilisation).max(0.0).ln_1p();
        let residuals: Vec<f64> = points.iter().map(off).collect();
        let line = Line { level, slope, error: spread(&residuals, points) };
        Some((line, criterion(&residuals, points, parameters)))
    };
    let (level, sloped) = (judged(level, 2)?, judged(sloped, 3));
    Some(sloped.filter(|sloped| sloped.1 < level.1 - TELLS).unwrap_or(level))
}

/// The closed queue whose number of users describes the points best; nothing where it would have to be so large that the queue is as good as open.
fn closed(queue: Queue, points: &[LoadPoint], cpus: usize) -> Option<QueueFit> {
    let largest = points.iter().map(|point| point.load).fold(0.0, f64::max);
    let (least, most) = (largest.ceil().max(2.0), (MOST_USERS * largest).ceil().min(USERS));
    let steps = 60;
    let mut counts: Vec<usize> = (0..=steps)
        .map(|i| (least * (most / least).max(1.0).powf(f64::from(i) / f64::from(steps))).round() as usize)
        .collect();
    counts.dedup();
    let model = |users| Model { queue, cpus, users: Users::Found(users) };
    let cost = |users: usize| squares(&residuals(model(users), points, 0.0), points);
    let best = counts.iter().copied().min_by(|a, b| cost(*a).total_cmp(&cost(*b)))?;
    (best as f64 <= 0.9 * most).then(|| fit(model(best), points))
}

fn check(points: &[LoadPoint], cpus: usize) -> Result<(), JudgeError> {
    if cpus == 0 {
        return Err(JudgeError::Setting { name: "cpus", value: 0.0, expected: "1 or more" });
    }
    if points.len() < LEAST_POINTS {
        return Err(JudgeError::TooFew { what: "rows".into(), got: points.len(), needed: LEAST_POINTS });
    }
    for (i, point) in points.iter().enumerate() {
        if !(0.0..1.0).contains(&point.utilisation) {
            let told = format!("row {}: utilisation is {}: expected 0 to below 1", i + 1, point.utilisation);
            return Err(JudgeError::Table(told));
        }
        if let Some(users) = point.users
            && !((1.0..=USERS).contains(&users) && users.fract() == 0.0 && point.load <= users)
        {
            let told = format!(
                "row {}: users is {users}, and load {}: expected a whole number of users from 1 to {USERS}, and no more load than users",
                i + 1,
                point.load
            );
            return Err(JudgeError::Table(told));
        }
        if !(point.load >= 0.0 && point.load.is_finite()) {
            return Err(JudgeError::Table(format!(
                "row {}: load is {}: expected 0 or more",
                i + 1,
                point.load
            )));
        }
    }
    Ok(())
}

/// The least utilisation at which ten per cent more at least doubles the response time, which grows with utilisation.
fn first_doubling(response: impl Fn(f64) -> f64) -> f64 {
    let (mut calm, mut hurt) = (0.01, 1.0 / 1.1);
    for _ in 0..60 {
        let middle = f64::midpoint(calm, hurt);
        if response(1.1 * middle) >= 2.0 * response(middle) { hurt = middle } else { calm = middle }
    }
    hurt
}

/// Who makes the jobs of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Users {
    /// They come by themselves.
    Open,
    /// As many as each point says; where it says none, they come by themselves.
    Given,
    /// So many, which were looked for.
    Found(usize),
}

/// A queue with those who make its jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Model {
    queue: Queue,
    cpus: usize,
    users: Users,
}

impl Model {
    fn load(self, point: &LoadPoint) -> f64 {
        let users = match self.users {
            Users::Open => None,
            Users::Given => point.users.map(|users| users as usize),
            Users::Found(users) => Some(users),
        };
        match users {
            Some(users) => self.queue.closed_load(point.utilisation, self.cpus, users),
            None => self.queue.load(point.utilisation, self.cpus),
        }
    }

    /// The most users that a point has.
    fn most_users(self, points: &[LoadPoint]) -> Option<usize> {
        match self.users {
            Users::Open => None,
            Users::Given => points.iter().filter_map(|point| point.users).map(|users| users as usize).max(),
            Users::Found(users) => Some(users),
        }
    }

    fn name(self, points: &[LoadPoint]) -> String {
        let plain = self.queue.name(self.cpus);
        let users = match self.most_users(points) {
            None => return plain,
            Some(most)
                if points.iter().all(|point| point.users.is_none_or(|users| users as usize == most)) =>
            {
                most.to_string()
            }
            Some(_) => "N".into(),
        };
        format!("{plain}//{users}")
    }
}

/// Akaike's criterion of weighed residuals.
fn criterion(residuals: &[f64], points: &[LoadPoint], parameters: usize) -> f64 {
    aicc(squares(residuals, points), points.len(), parameters)
}

/// Fits a model with and without background load, and keeps the better.
fn fit(model: Model, points: &[LoadPoint]) -> QueueFit {
    let looked_for = usize::from(matches!(model.users, Users::Found(_)));
    let describe = |background: f64, parameters: usize| {
        let residuals = residuals(model, points, background);
        QueueFit {
            queue: model.queue,
            name: model.name(points),
            users: model.most_users(points),
            background,
            aicc: criterion(&residuals, points, parameters + looked_for),
            left_out_error: 0.0,
            residuals,
        }
    };
    let (plain, lifted) = (describe(0.0, 1), describe(background(model, points), 2));
    let with_background = lifted.aicc < plain.aicc;
    let left_out = |i: usize| {
        let rest = without(points, i);
        let background = if with_background { background(model, &rest) } else { 0.0 };
        residuals(model, &points[i..=i], background)[0]
    };
    let errors: Vec<f64> = (0..points.len()).map(left_out).collect();
    QueueFit { left_out_error: spread(&errors, points), ..if with_background { lifted } else { plain } }
}

fn residuals(model: Model, points: &[LoadPoint], background: f64) -> Vec<f64> {
    points.iter().map(|point| point.load.ln_1p() - (model.load(point) + background).ln_1p()).collect()
}

/// The weight of a point: 1 at an idle machine, and the less the nearer it is to saturation.
fn weight(point: &LoadPoint) -> f64 {
    let uncertainty = |u: f64| u * (1.0 + u) / (1.0 - u).powi(2);
    let shared = uncertainty(EVEN);
    shared / (shared + uncertainty(point.utilisation))
}

/// The weighed sum of the squares of residuals, in the order of the points.
fn squares(residuals: &[f64], points: &[LoadPoint]) -> f64 {
    residuals.iter().zip(points).map(|(residual, point)| weight(point) * residual * residual).sum()
}

/// The weighed root mean square.
fn spread(residuals: &[f64], points: &[LoadPoint]) -> f64 {
    (squares(residuals, points) / points.iter().map(weight).sum::<f64>()).sqrt()
}

/// The background load of least squares, found by golden section between 0 and the largest load.
fn background(model: Model, points: &[LoadPoint]) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let modelled: Vec<f64> = points.iter().map(|point| model.load(point)).collect();
    let cost = |b: f64| {
        let off = points.iter().zip(&modelled).map(|(point, load)| point.load.ln_1p() - (load + b).ln_1p());
        squares(&off.collect::<Vec<f64>>(), points)
    };
    let (mut low, mut high) = (0.0, points.iter().map(|p| p.load).fold(0.0, f64::max));
    for _ in 0..60 {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        if cost(left) < cost(right) { high = right } else { low = left }
    }
    f64::midpoint(low, high)
}

impl LoadCurve {
    /// The verdict: `estimated` with the load at which it hurts, or `undecided` when no model holds or several do.
    #[must_use]
    pub fn verdict(&self, metric: &str) -> Verdict {
        let best = &self.fits[0];
        let error = self.error;
        let rival =
            self.fits.get(1).filter(|r| r.aicc - best.aicc < TELLS || r.left_out_error < best.left_out_error);
        let order = &self.structure;
        let (outcome, told) = if let Some(line) = &self.line {
            let told = if line.slope == 0.0 {
                format!("a load of {} whatever the utilisation", figure(line.level))
            } else {
                format!(
                    "a load of {} that changes evenly by {} up to full utilisation",
                    figure(line.level),
                    figure(line.slope)
                )
            };
            let told = format!(
                "no queue: {told} describes {} points within {} of 1 + load, and the best queue, {}, within {}",
                self.n,
                percent(line.error),
                best.name,
                percent(error)
            );
            (Outcome::Undecided, told)
        } else if error > BELIEVED {
            let told =
                format!("no model holds: the best, {}, is off by {} of 1 + load", best.name, percent(error));
            (Outcome::Undecided, told)
        } else if order.is_told() {
            let told = format!(
                "no model holds: what points are off the best, {}, has an order by utilisation that chance seldom makes (p {}), and is {} of 1 +                  load",
                best.name,
                p_value(order.p),
                percent(error)
            );
            (Outcome::Undecided, told)
        } else if let Some(rival) = rival {
            let told = format!(
                "{} points do not tell {} from {}: measure nearer to saturation",
                self.n, best.name, rival.name
            );
            (Outcome::Undecided, told)
        } else {
            let described =
                format!("{} describes {} points within {} of 1 + load", best.name, self.n, percent(error));
            (Outcome::Estimated, format!("{described}; {}", self.consequence(best)))
        };
        let bare = Verdict::bare("load_curve", metric, outcome, self.n, told);
        let estimate = self.hurts_at_load.or(best.users.map(|users| users as f64));
        Verdict { estimate: estimate.filter(|_| outcome == Outcome::Estimated), ..bare }
    }

    /// What follows from the best model.
    fn consequence(&self, best: &QueueFit) -> String {
        let (Some(utilisation), Some(load)) = (self.hurts_at_utilisation, self.hurts_at_load) else {
            let users = best.users.unwrap_or(0);
            return format!(
                "with {users} users, who wait for their answers, the load stays below {users} however busy the processors are"
            );
        };
        format!(
            "from {} utilisation on, at a load of {}, 10 % more work doubles the response time; 10 % more than the most that was measured {}",
            percent(utilisation),
            figure(load),
            self.next_tenth
                .map_or_else(|| "do not fit".into(), |times| format!("multiply it by {}", figure(times))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::rng::SmallRng;

    fn measured(queue: Queue, cpus: usize, background: f64, seed: u64) -> Vec<LoadPoint> {
        let mut rng = SmallRng::new(seed);
        (1..=9)
            .map(|k| {
                let utilisation = f64::from(k) / 10.0;
                let noise = 1.0 + 0.03 * rng.normal();
                LoadPoint {
                    utilisation,
                    load: (queue.load(utilisation, cpus) + background) * noise,
                    users: None,
                }
            })
            .collect()
    }

    #[test]
    fn erlang_c_agrees_with_published_values() {
        // One server: ρ. Two servers: ρ²·2/(1+ρ). Ten servers at 8 erlangs: 0.409 in the usual tables.
        assert!((erlang_c(1, 0.7) - 0.7).abs() < 1e-12);
        assert!((erlang_c(2, 1.0) - 1.0 / 3.0).abs() < 1e-12);
        assert!((erlang_c(10, 8.0) - 0.409).abs() < 5e-4);
    }

    #[test]
    fn two_processors_with_one_queue_hold_two_rho_over_one_minus_rho_squared() {
        for rho in [0.1, 0.5, 0.9] {
            let expected = 2.0 * rho / (1.0 - rho * rho);
            assert!((Queue::Shared.load(rho, 2) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn each_model_is_told_from_the_others() {
        for queue in [Queue::Single, Queue::Shared, Queue::Separate] {
            for seed in 0..10 {
                let curve = fit_load_curve(&measured(queue, 2, 0.0, seed), 2).unwrap();
                assert_eq!(curve.fits[0].queue, queue, "{curve:?}");
                assert_eq!(curve.verdict("load").outcome, Outcome::Estimated, "{curve:?}");
            }
        }
    }

    #[test]
    fn background_load_is_found() {
        let curve = fit_load_curve(&measured(Queue::Single, 1, 0.8, 1), 1).unwrap();
        assert!((curve.fits[0].background - 0.8).abs() < 0.1, "{curve:?}");
    }

    #[test]
    fn a_single_queue_hurts_from_five_sixths_on() {
        // R = 1/(1-ρ): (1-ρ)/(1-1.1ρ) = 2 at ρ = 1/1.2.
        let curve = fit_load_curve(&measured(Queue::Single, 1, 0.0, 2), 1).unwrap();
        assert!((curve.hurts_at_utilisation.unwrap() - 1.0 / 1.2).abs() < 1e-9);
        assert!((curve.hurts_at_load.unwrap() - 5.0).abs() < 1e-6);
        // From 90 % to 99 %: ten times as long.
        assert!((curve.next_tenth.unwrap() - 10.0).abs() < 1e-6);
        let reason = curve.verdict("load").reason;
        assert!(
            reason.ends_with("10 % more than the most that was measured multiply it by 10.0"),
            "{reason}"
        );
    }

    #[test]
    fn points_that_follow_no_queue_or_lie_too_low_are_undecided() {
        let flat: Vec<LoadPoint> = (1..=9)
            .map(|k| LoadPoint { utilisation: f64::from(k) / 10.0, load: 9.0 - f64::from(k), users: None })
            .collect();
        assert_eq!(fit_load_curve(&flat, 1).unwrap().verdict("load").outcome, Outcome::Undecided);
        let light: Vec<LoadPoint> = (1..=6)
            .map(|k| f64::from(k) / 100.0)
            .map(|u| LoadPoint { utilisation: u, load: 2.0 * u + 0.01 * (100.0 * u).sin(), users: None })
            .collect();
        let verdict = fit_load_curve(&light, 2).unwrap().verdict("load");
        assert_eq!(verdict.outcome, Outcome::Undecided);
        assert!(verdict.reason.contains("nearer to saturation"), "{}", verdict.reason);
    }

    /// From 10 to 95 % of two processors, each load off by a random factor.
    fn seen(load: impl Fn(f64) -> f64, scatter: f64, seed: u64) -> Vec<LoadPoint> {
        let mut rng = SmallRng::new(seed);
        let utilisations = [0.10, 0.25, 0.40, 0.55, 0.65, 0.75, 0.85, 0.90, 0.95];
        utilisations
            .map(|utilisation| LoadPoint {
                utilisation,
                load: load(utilisation) * (scatter * rng.normal()).exp(),
                users: None,
            })
            .to_vec()
    }

    #[test]
    fn a_load_that_does_not_grow_as_a_queue_is_refused_with_the_line_that_it_is() {
        let shapes: [(&str, &dyn Fn(f64) -> f64); 4] = [
            ("whatever the utilisation", &|_| 3.0),
            ("whatever the utilisation", &|_| 0.4),
            ("changes evenly by", &|u| 1.0 + 2.0 * u),
            ("changes evenly by -", &|u| 5.0 - 3.0 * u),
        ];
        for (told, load) in shapes {
            for cpus in [1, 2, 8] {
                for seed in 0..5 {
                    let verdict = fit_load_curve(&seen(load, 0.03, seed), cpus).unwrap().verdict("load");
                    assert_eq!(
                        (verdict.outcome, verdict.estimate),
                        (Outcome::Undecided, None),
                        "{told} {cpus}"
                    );
                    assert!(verdict.reason.starts_with("no queue: a load of"), "{}", verdict.reason);
                    assert!(verdict.reason.contains(told), "{}", verdict.reason);
                }
            }
        }
    }

    #[test]
    fn the_repairman_agrees_with_published_values() {
        // One server, five users, a service as long as a fourth of the thinking: p0 = 1/(1 + 1.25 + 1.25 + 0.9375 + 0.46875 + 0.1171875).
        let (jobs, busy) = repairman(1, 5, 0.25);
        let idle = 1.0 / 5.023_437_5;
        assert!((busy - (1.0 - idle)).abs() < 1e-9);
        // Little: the users who think are as many as jobs are done while one thinks.
        assert!((jobs - (5.0 - busy / 0.25)).abs() < 1e-9);
        // As many servers as users: nobody waits, and each is busy for ratio / (1 + ratio).
        assert!((closed_load(3, 3, 0.4) - 1.2).abs() < 1e-9);
        // Many users who seldom come are as good as an open queue.
        assert!((closed_load(1, 20_000, 0.5) - 1.0).abs() < 0.01);
    }

    #[test]
    fn users_who_wait_for_their_answers_are_told_from_jobs_that_come_by_themselves() {
        for (cpus, users) in [(1, 12), (2, 20)] {
            let queue = if cpus == 1 { Queue::Single } else { Queue::Shared };
            let mut points = seen(|u| queue.closed_load(u, cpus, users), 0.02, 5);
            let found = fit_load_curve(&points, cpus).unwrap();
            let best = &found.fits[0];
            assert!(best.users.is_some_and(|n| n.abs_diff(users) <= users / 4), "{found:?}");
            for point in &mut points {
                point.users = Some(users as f64);
                point.load = point.load.min(users as f64);
            }
            let told = fit_load_curve(&points, cpus).unwrap();
            assert_eq!(told.fits[0].name, format!("M/M/{cpus}//{users}"), "{told:?}");
            let verdict = told.verdict("load");
            assert_eq!((verdict.outcome, verdict.estimate), (Outcome::Estimated, Some(users as f64)));
        }
        for queue in [Queue::Single, Queue::Shared] {
            let found = fit_load_curve(&seen(|u| queue.load(u, 2), 0.03, 3), 2).unwrap();
            assert!(found.fits.iter().all(|fit| fit.users.is_none()), "{found:?}");
        }
    }

    #[test]
    fn each_point_may_have_users_of_its_own() {
        let point = |users: usize, ratio: f64| {
            let (load, utilisation) = repairman(2, users, ratio);
            LoadPoint { utilisation, load, users: Some(users as f64) }
        };
        let points: Vec<LoadPoint> = [2, 4, 6, 8, 10, 14].map(|users| point(users, 0.2)).to_vec();
        let found = fit_load_curve(&points, 2).unwrap();
        assert_eq!((found.fits[0].name.as_str(), found.fits[0].users), ("M/M/2//N", Some(14)), "{found:?}");
        assert!(found.error < 1e-6, "{found:?}");
        let crowded = LoadPoint { users: Some(1.0), ..points[0] };
        assert!(fit_load_curve(&[&points[..], &[LoadPoint { load: 1.5, ..crowded }]].concat(), 2).is_err());
    }

    #[test]
    fn impossible_rows_are_errors() {
        let point = |utilisation, load| LoadPoint { utilisation, load, users: None };
        assert!(fit_load_curve(&[point(0.5, 1.0); 4], 1).is_err());
        for bad in
            [point(1.0, 1.0), point(f64::NAN, 1.0), point(-0.1, 1.0), point(0.5, -1.0), point(0.5, f64::NAN)]
        {
            assert!(fit_load_curve(&[bad; 6], 1).is_err(), "{bad:?}");
        }
        assert!(fit_load_curve(&[point(0.5, 1.0); 6], 0).is_err());
    }
}
