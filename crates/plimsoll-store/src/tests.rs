//! Runs that are stored, read, and cut short.

use super::*;
use std::collections::BTreeMap;

use plimsoll_model::observation::{PhaseKind, Snapshot};

mod encrypted;
mod server;
mod shared;

pub(crate) use server::store as store_on_server;

/// A test that a file of runs and a server must both pass.
macro_rules! on_both {
    (fn $name:ident($store:ident) $body:block) => {
        mod $name {
            use super::*;

            fn holds_for($store: &Store) $body

            #[test]
            fn in_a_file() {
                let folder = tempfile::tempdir().unwrap();
                holds_for(&Store::open(&folder.path().join("state/runs.sqlite")).unwrap());
            }

            #[test]
            #[ignore = "needs postgresql"]
            fn on_a_server() {
                holds_for(&crate::tests::store_on_server());
            }
        }
    };
}
pub(crate) use on_both;

pub(crate) fn entry(id: &str, started_unix_s: u64) -> RunEntry {
    RunEntry {
        id: id.into(),
        experiment: "flood-relay".into(),
        source: "question = \"?\"".into(),
        settings: serde_json::json!({"quick": true}),
        seed: u64::MAX,
        started_unix_s,
        elapsed: Duration::from_millis(1500),
        status: RunStatus::Interrupted,
        notes: vec!["a note".to_owned().into()],
    }
}

pub(crate) fn phase(name: &str, cycle: u32) -> PhaseRecord {
    PhaseRecord {
        name: name.into(),
        kind: PhaseKind::Measure,
        cycle,
        rung: None,
        start_ns: 1,
        end_ns: 2,
        slices: Vec::new(),
        events: Vec::new(),
        notes: Vec::new(),
        captures: Vec::new(),
        profiles: Vec::new(),
    }
}

pub(crate) fn trial(number: u32) -> TrialRecord {
    let sample = Snapshot { at_ns: 5, values: BTreeMap::from([("stat.cpu.user".into(), 0.1)]) };
    TrialRecord {
        number,
        block: 1,
        cell: BTreeMap::from([("clients".into(), "2".into())]),
        phases: vec![phase("baseline", 0), phase("after", 1)],
        series: BTreeMap::from([("firewall'".into(), vec![sample])]),
        setup_us: 7,
        ..TrialRecord::default()
    }
}

/// SQLite's connection of a store in a file.
fn file(store: &Store) -> &rusqlite::Connection {
    match &store.database {
        Database::File(file) => file,
        Database::Server(_) => panic!("no file"),
    }
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("state/runs.sqlite")).unwrap();
    (folder, store)
}

on_both! { fn a_run_and_its_trials_come_back_as_they_were_stored(store) {
    store.put_run(&entry("abc", 10)).unwrap();
    store.put_trial("abc", &trial(1)).unwrap();
    assert_eq!(store.run("abc").unwrap(), Some(entry("abc", 10)));
    assert_eq!(store.trials("abc").unwrap(), [trial(1)]);
    assert_eq!(store.ended("abc").unwrap(), [1]);
}}

on_both! { fn of_two_runs_that_began_in_one_second_the_later_is_the_latest(store) {
    for id in ["zzz", "aaa", "mmm"] {
        store.put_run(&entry(id, 10)).unwrap();
    }
    assert_eq!(store.run("latest").unwrap().unwrap().id, "mmm");
    let ids: Vec<String> = store.runs(None).unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(ids, ["mmm", "aaa", "zzz"]);
}}

on_both! { fn a_run_is_found_by_the_start_of_its_id_and_as_the_latest(store) {
    for (id, started) in [("abc", 10), ("def", 30), ("deg", 20)] {
        store.put_run(&entry(id, started)).unwrap();
    }
    assert_eq!(store.run("ab").unwrap().unwrap().id, "abc");
    assert_eq!(store.run("latest").unwrap().unwrap().id, "def");
    assert_eq!(store.run("%").unwrap().map(|run| run.id), None, "no wildcard of SQL's gets through");
    assert_eq!(store.run("de").unwrap().map(|run| run.id), None, "two runs start like this");
    let ids: Vec<String> = store.runs(Some("flood-relay")).unwrap().into_iter().map(|run| run.id).collect();
    assert_eq!(ids, ["def", "deg", "abc"]);
    assert!(store.runs(Some("other")).unwrap().is_empty());
}}

on_both! { fn a_run_whose_id_would_lead_out_of_a_folder_is_not_read(store) {
    store.put_run(&entry("../../abc", 10)).unwrap();
    let error = store.run("latest").unwrap_err();
    assert!(error.to_string().contains("an id of letters and digits was expected"), "{error}");
    assert!(store.runs(None).is_err());
}}

on_both! { fn phases_of_a_trial_that_never_ended_are_kept_until_it_is_carried_out_again(store) {
    store.put_run(&entry("abc", 10)).unwrap();
    store.put_phase("abc", &trial(1), 0, &phase("baseline", 0)).unwrap();
    assert_eq!(store.trials("abc").unwrap()[0].phases, [phase("baseline", 0)]);
    assert!(store.ended("abc").unwrap().is_empty());
    assert_eq!(store.forget_unended("abc").unwrap(), 1);
    assert!(store.trials("abc").unwrap().is_empty());
}}

#[test]
fn what_is_read_needs_no_file_and_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/runs.sqlite");
    assert!(Store::open_to_read(&path).unwrap().runs(None).unwrap().is_empty());
    assert!(!folder.path().join("state").exists());
}

#[test]
fn a_store_is_read_while_a_run_writes_to_it() {
    let (folder, store) = store();
    store.put_run(&entry("abc", 10)).unwrap();
    let reader = Store::open_to_read(&folder.path().join("state/runs.sqlite")).unwrap();
    assert_eq!(reader.runs(None).unwrap().len(), 1);
    store.put_run(&entry("def", 20)).unwrap();
    assert_eq!(reader.runs(None).unwrap().len(), 2);
    assert!(reader.inventories("abc").unwrap().is_empty());
}

#[test]
fn a_file_of_another_format_is_refused() {
    let (folder, store) = store();
    file(&store).pragma_update(None, "user_version", schema::FORMAT + 1).unwrap();
    drop(store);
    let error = Store::open(&folder.path().join("state/runs.sqlite")).unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
    let error = Store::open_to_read(&folder.path().join("state/runs.sqlite")).unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
    let connection = rusqlite::Connection::open(folder.path().join("state/runs.sqlite")).unwrap();
    connection.pragma_update(None, "user_version", schema::FORMAT - 1).unwrap();
    let error = Store::open(&folder.path().join("state/runs.sqlite")).unwrap_err();
    assert!(matches!(error, StoreError::Older { .. }), "{error}");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let text = "shopping list: ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert!(matches!(Store::open(&path).unwrap_err(), StoreError::Sqlite { .. }));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_file_that_is_removed_while_a_run_goes_on_is_missed() {
    let (folder, store) = store();
    store.put_run(&entry("a", 1)).unwrap();
    let Location::File(path) = store.place() else { panic!("a file in {folder:?}") };
    std::fs::remove_file(path).unwrap();
    assert!(matches!(store.put_trial("a", &trial(1)), Err(StoreError::Gone { .. })));
    assert!(matches!(store.put_run(&entry("a", 1)), Err(StoreError::Gone { .. })));
}

#[test]
fn a_full_disk_is_named_and_spoils_nothing() {
    let (_folder, store) = store();
    store.put_run(&entry("abc", 10)).unwrap();
    store.put_trial("abc", &trial(1)).unwrap();
    let pages: i64 = file(&store).pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    file(&store).pragma_update(None, "max_page_count", pages).unwrap();
    let mut large = trial(2);
    // What repeats itself would be compressed to next to nothing.
    large.phases[0].notes = (0..100_000_u64).map(|at| (at * at).to_string()).collect();
    let error = store.put_trial("abc", &large).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(store.trials("abc").unwrap(), [trial(1)]);
}

on_both! { fn how_long_phases_took_is_known_from_the_newest_run_that_came_to_its_end(store) {
    let like = |run: &RunEntry| store.times_like(run).unwrap();
    assert_eq!(like(&entry("new", 99)), None);
    let ended = |id: &str, started, source: &str, took_ns| {
        let run = RunEntry { status: RunStatus::Complete, source: source.into(), ..entry(id, started) };
        store.put_run(&run).unwrap();
        for number in 1..=2 {
            let mut trial = trial(number);
            trial.phases[0].end_ns = 1 + u64::from(number) * took_ns;
            store.put_trial(id, &trial).unwrap();
        }
    };
    ended("other", 20, "question = \"!\"", 1000);
    ended("same", 10, &entry("new", 99).source, 2000);
    store.put_run(&entry("unended", 30)).unwrap();
    let times = like(&entry("new", 99)).unwrap();
    assert_eq!((times.run.as_str(), times.around), ("same", Duration::from_micros(7)));
    assert_eq!(times.phases[1], ("baseline".into(), PhaseKind::Measure, Duration::from_nanos(3000)));
    let other = RunEntry { source: String::new(), ..entry("new", 99) };
    assert_eq!(like(&other).unwrap().run, "other", "the newest of that name");
}}

#[test]
fn of_a_store_whose_making_was_cut_short_there_are_no_runs_and_it_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made.sqlite");
    let _open = Store::open(&made).unwrap();
    let (file, log) = (std::fs::read(&made).unwrap(), std::fs::read(opening::beside(&made, "-wal")).unwrap());
    assert!(log.len() > 10_000, "tables are in the log: {}", log.len());
    for length in (0..=log.len()).step_by(1500) {
        let cut = folder.path().join(format!("{length}.sqlite"));
        std::fs::write(&cut, &file).unwrap();
        std::fs::write(opening::beside(&cut, "-wal"), &log[..length]).unwrap();
        let read = Store::open_to_read(&cut).unwrap();
        assert_eq!((read.runs(None).unwrap(), read.bytes().unwrap().len()), (Vec::new(), 0), "{length}");
        drop(read);
        Store::open(&cut).unwrap().put_run(&entry("a", 1)).unwrap();
    }
}

#[test]
fn a_file_with_views_or_triggers_is_refused_before_it_is_read() {
    let endless =
        "with recursive endless(n) as (select 1 union all select n + 1 from endless) select n from endless";
    for planted in [
        format!("alter table runs rename to kept; create view runs as {endless}"),
        "create trigger more after insert on runs begin select 1; end".to_owned(),
    ] {
        let (folder, store) = store();
        store.put_run(&entry("abc", 10)).unwrap();
        drop(store);
        let path = folder.path().join("state/runs.sqlite");
        rusqlite::Connection::open(&path).unwrap().execute_batch(&planted).unwrap();
        for error in [Store::open(&path).unwrap_err(), Store::open_to_read(&path).unwrap_err()] {
            assert!(matches!(error, StoreError::Foreign { .. }), "{planted}: {error}");
        }
    }
}
