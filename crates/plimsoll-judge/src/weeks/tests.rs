use super::*;
use crate::stats::rng::SmallRng;

/// Load of a machine in an hour: its days and weeks, and noise whose neighbours are alike; now and then an hour of something else.
fn hours(seed: u64, days: usize, noise: f64, changed: impl Fn(usize) -> f64) -> Vec<Option<f64>> {
    let mut rng = SmallRng::new(seed);
    let mut now = 0.0;
    (0..days * DAY)
        .map(|hour| {
            now = 0.6 * now + noise * rng.normal();
            let of_day = (std::f64::consts::TAU * (hour % DAY) as f64 / DAY as f64).sin();
            let weekend = if hour / DAY % 7 >= 5 { 0.7 } else { 1.0 };
            let odd = if rng.uniform() < 0.005 { 1.2 } else { 1.0 };
            Some(100.0 * (1.0 + 0.2 * of_day) * weekend * odd * changed(hour) + now)
        })
        .collect()
}

/// The news when the series is examined every few hours, each with the hour of the look.
fn all_news(hours: &[Option<f64>], every: usize) -> Vec<(usize, News)> {
    let mut remembered = Remembered::default();
    let mut all = Vec::new();
    for now in (LEAST..=hours.len()).step_by(every) {
        let from = now.saturating_sub(LOOKED_AT);
        let news = remembered.look(&hours[from..now], from as u64).unwrap();
        all.extend(news.into_iter().map(|news| (now, news)));
    }
    all
}

#[test]
fn a_step_of_five_per_cent_is_reported_within_a_day_and_only_once() {
    let step = 40 * DAY + 7;
    for seed in 0..3 {
        let hours = hours(seed, 46, 0.8, |hour| if hour < step { 1.0 } else { 1.05 });
        let all = all_news(&hours, 3);
        let [(when, News::Change { hour, before, after, .. })] = all[..] else { panic!("{seed}: {all:?}") };
        assert!((step..=step + DAY).contains(&when), "{seed}: reported at {when} of {step}");
        assert!(hour.abs_diff(step as u64) <= 6, "{seed}: {hour} of {step}");
        let size = (after - before) / before;
        assert!((0.03..0.07).contains(&size), "{seed}: {size}");
    }
}

#[test]
fn a_slow_leak_is_reported_within_a_day_and_later_as_a_drift() {
    let leak = 40 * DAY + 11;
    for seed in 0..3 {
        let hours = hours(seed, 50, 0.2, |hour| 1.0 - 0.000_7 * hour.saturating_sub(leak) as f64);
        let all = all_news(&hours, 3);
        let (when, News::Change { hour, .. }) = all[0] else { panic!("{seed}: {all:?}") };
        assert!((leak..=leak + DAY).contains(&when), "{seed}: reported at {when} of {leak}");
        assert!(hour.abs_diff(leak as u64) <= DAY as u64, "{seed}: {hour} of {leak}");
        let drifts: Vec<Drift> = all
            .iter()
            .filter_map(|(_, news)| match news {
                News::Drift(drift) => Some(*drift),
                _ => None,
            })
            .collect();
        let last = drifts.last().unwrap_or_else(|| panic!("{seed}: {all:?}"));
        assert!((-0.09..-0.04).contains(&last.per_hour), "{seed}: {drifts:?}");
        assert!(all.len() <= 6, "{seed}: a leak is not reported each day: {all:?}");
    }
}

#[test]
fn days_and_weeks_alone_are_no_news() {
    // Four machines for seven weeks after the first three: more than six months, in which six false alarms would be too many.
    let alarms: usize = (10..14).map(|seed| all_news(&hours(seed, 70, 0.8, |_| 1.0), 3).len()).sum();
    assert!(alarms <= 2, "{alarms} in six months");
}

#[test]
fn gaps_and_few_hours_are_no_trouble() {
    let mut series = hours(3, 40, 0.8, |_| 1.0);
    series[500..560].fill(None);
    assert_eq!(all_news(&series, 5), []);
    let mut remembered = Remembered::default();
    assert_eq!(remembered.look(&[None; 1000], 0).unwrap(), []);
    assert_eq!(remembered.look(&series[..100], 0).unwrap(), []);
    // A series that began twelve days ago, with a change, is not known for three weeks.
    let step = hours(4, 12, 0.8, |hour| if hour < 10 * DAY { 1.0 } else { 1.5 });
    let new = [vec![None; LOOKED_AT - step.len()], step].concat();
    assert_eq!(remembered.look(&new, 0).unwrap(), []);
}

#[test]
fn earlier_news_are_enough_to_go_on() {
    // A leak that ends when its owner is started again, and a step.
    let (leak, out) = (40 * DAY + 11, 60 * DAY);
    let leaking = hours(1, 100, 0.2, |hour| match hour {
        hour if (leak..out).contains(&hour) => 1.0 - 0.000_7 * (hour - leak) as f64,
        _ => 1.0,
    });
    let stepping = hours(2, 60, 0.8, |hour| if hour < leak { 1.0 } else { 1.05 });
    for hours in [leaking, stepping] {
        let all = all_news(&hours, 3);
        let mut again: Vec<(usize, News)> = Vec::new();
        for now in (LEAST..=hours.len()).step_by(3) {
            let from = now.saturating_sub(LOOKED_AT);
            let known: Vec<News> = again.iter().map(|(_, news)| *news).collect();
            let news = Remembered::from_news(&known).look(&hours[from..now], from as u64).unwrap();
            again.extend(news.into_iter().map(|news| (now, news)));
        }
        assert_eq!(again, all);
        assert!(!all.is_empty());
    }
}
