use super::*;
use crate::StoreError;

/// A Monday, 00:00 UTC.
const START: u64 = 1_803_859_200;

fn series(name: &str) -> Series {
    Series { name: name.into(), unit: "share".into() }
}

fn minute(value: impl Fn(usize) -> f32) -> [f32; SIXTY] {
    std::array::from_fn(value)
}

fn open(folder: &tempfile::TempDir, keep: Keep) -> Weeks {
    Weeks::open(&folder.path().join("weeks.sqlite"), keep).unwrap()
}

#[test]
fn seconds_become_minutes_and_hours() {
    let folder = tempfile::tempdir().unwrap();
    let mut weeks = open(&folder, Keep::default());
    // The value is the minute's number, and half of the seconds lie a half above.
    for n in 0..150_u64 {
        let values = minute(|second| n as f32 + if second % 2 == 0 { 0.0 } else { 0.5 });
        weeks.put_minute(START + n * MINUTE, &[(series("cpu"), values)]).unwrap();
    }
    let read = |tier| weeks.points_of("cpu", tier, START, START + 3 * HOUR).unwrap();
    let seconds = read(Tier::Seconds);
    assert_eq!((seconds.len(), seconds[61].mean, seconds[61].at_unix_s), (150 * 60, 1.5, START + 61));
    let minutes = read(Tier::Minutes);
    assert_eq!(minutes.len(), 150, "also those whose hour has not ended");
    assert_eq!((minutes[149].least, minutes[149].mean, minutes[149].greatest), (149.0, 149.25, 149.5));
    let hours = read(Tier::Hours);
    assert_eq!(hours.len(), 3);
    assert_eq!((hours[1].least, hours[1].greatest), (60.0, 119.5));
    assert!((hours[1].mean - 89.75).abs() < 1e-3, "{:?}", hours[1]);
    assert_eq!(weeks.extent().unwrap(), Some((START, START + 150 * MINUTE)));
    assert_eq!(weeks.series().unwrap(), [series("cpu")]);
    assert_eq!(weeks.points_of("memory", Tier::Hours, 0, u64::from(u32::MAX)).unwrap(), []);
}

#[test]
fn what_was_not_measured_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let mut weeks = open(&folder, Keep::default());
    weeks.put_minute(START, &[(series("cpu"), minute(|s| if s < 30 { 1.0 } else { f32::NAN }))]).unwrap();
    weeks.put_minute(START + 5 * MINUTE, &[(series("cpu"), minute(|_| f32::NAN))]).unwrap();
    weeks.put_minute(START + 2 * HOUR, &[(series("cpu"), minute(|_| 3.0))]).unwrap();
    let points = weeks.points_of("cpu", Tier::Minutes, START, START + DAY).unwrap();
    let means: Vec<(u64, f32)> = points.iter().map(|point| (point.at_unix_s - START, point.mean)).collect();
    assert_eq!(means, [(0, 1.0), (2 * HOUR, 3.0)]);
}

#[test]
fn old_seconds_go_and_their_hours_stay() {
    let folder = tempfile::tempdir().unwrap();
    let mut weeks = open(&folder, Keep { seconds: Duration::from_secs(2 * HOUR), ..Keep::default() });
    for n in 0..300_u64 {
        weeks.put_minute(START + n * MINUTE, &[(series("cpu"), minute(|_| n as f32))]).unwrap();
    }
    let seconds = weeks.points_of("cpu", Tier::Seconds, START, START + DAY).unwrap();
    assert!(seconds.len() <= 121 * 60 && seconds.len() >= 119 * 60, "{}", seconds.len());
    assert_eq!(weeks.points_of("cpu", Tier::Minutes, START, START + DAY).unwrap().len(), 300);
}

#[test]
fn the_file_keeps_to_its_bound_and_loses_the_finest_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weeks.sqlite");
    let keep = Keep { most_bytes: Keep::LEAST_BYTES, ..Keep::default() };
    let mut weeks = open(&folder, keep);
    let names: Vec<Series> = (0..100).map(|n| series(&format!("series {n}"))).collect();
    let size = || {
        let of = |name: &str| fs::metadata(folder.path().join(name)).map_or(0, |about| about.len());
        of("weeks.sqlite") + of("weeks.sqlite-wal") + of("weeks.sqlite-shm")
    };
    let mut most = 0;
    // A day of a hundred series takes 38 MB in seconds.
    for n in 0..24 * 60_u64 {
        let rows: Vec<_> =
            names.iter().map(|name| (name.clone(), minute(|s| (n as usize + s) as f32))).collect();
        weeks.put_minute(START + n * MINUTE, &rows).unwrap();
        most = most.max(size());
    }
    assert!(most <= keep.most_bytes, "{most} bytes in {}", path.display());
    assert!(most > keep.most_bytes / 2, "{most}: there was room for more");
    let points = weeks.points_of("series 7", Tier::Hours, START, START + DAY).unwrap();
    assert_eq!(points.len(), 24, "all hours are known");
    let seconds = weeks.points_of("series 7", Tier::Seconds, START, START + DAY).unwrap();
    assert!(seconds.last().unwrap().at_unix_s == START + DAY - 1 && seconds[0].at_unix_s > START + HOUR);
}

#[test]
fn a_file_that_was_not_closed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let put = |weeks: &mut Weeks, n: u64| {
        weeks.put_minute(START + n * MINUTE, &[(series("cpu"), minute(|_| n as f32))]).unwrap();
    };
    let mut weeks = open(&folder, Keep::default());
    (0..90).for_each(|n| put(&mut weeks, n));
    // As a kill leaves it: the log is there, and nobody tidied up.
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder.path()).unwrap().flatten() {
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    drop(weeks);
    let mut weeks = open(&copy, Keep::default());
    (90..130).for_each(|n| put(&mut weeks, n));
    let hours = weeks.points_of("cpu", Tier::Hours, START, START + DAY).unwrap();
    assert_eq!(hours.iter().map(|hour| hour.mean).collect::<Vec<_>>(), [29.5, 89.5, 124.5]);
}

#[test]
fn another_kind_of_file_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    drop(crate::Store::open(&path).unwrap());
    let before = fs::read(&path).unwrap();
    assert!(matches!(Weeks::open(&path, Keep::default()), Err(StoreError::NoWeeks { .. })));
    assert!(matches!(Weeks::open_to_read(&path), Err(StoreError::NoWeeks { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
    let nowhere = folder.path().join("nowhere");
    assert!(matches!(Weeks::open_to_read(&nowhere), Err(StoreError::Open { .. })));
    assert!(!nowhere.exists());
}

#[test]
fn what_was_found_comes_back_the_newest_first() {
    let folder = tempfile::tempdir().unwrap();
    let weeks = open(&folder, Keep::default());
    let notice = |series: &str, found_unix_s| Notice {
        series: series.into(),
        since_unix_s: START,
        found_unix_s,
        notice: serde_json::json!({ "kind": "change" }),
    };
    weeks.put_notice(&notice("cpu", START + 1)).unwrap();
    weeks.put_notice(&notice("memory", START + 2)).unwrap();
    assert_eq!(weeks.notices().unwrap(), [notice("memory", START + 2), notice("cpu", START + 1)]);
    weeks.put_state("cpu", &serde_json::json!([1])).unwrap();
    weeks.put_state("cpu", &serde_json::json!([2])).unwrap();
    assert_eq!(weeks.state("cpu").unwrap(), Some(serde_json::json!([2])));
    assert_eq!(weeks.state("memory").unwrap(), None);
}
