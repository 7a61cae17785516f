//! Duties of a server beyond those of a file: many clients at once, and outages.

use std::thread;

use plimsoll_model::under_way::UnderWay;
use postgres::{Client, NoTls};

use super::server::{place, store, url};
use super::*;
use crate::schema::server::VERSION;
use crate::{Copied, Packing};

fn said(url: &str, statement: &str) {
    Client::connect(url, NoTls).unwrap().batch_execute(statement).unwrap();
}

fn in_a_folder() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("runs.sqlite")).unwrap();
    (folder, store)
}

#[test]
#[ignore = "needs postgresql"]
fn tables_of_another_version_are_refused_by_name() {
    let url = url();
    drop(Store::open_at(&place(&url)).unwrap());
    said(&url, "update plimsoll.format set version = version + 1");
    for refused in [Store::open_at(&place(&url)), Store::open_at_to_read(&place(&url))] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, StoreError::Newer { .. }), "{refused}");
        let message = format!("has format {}, and this Plimsoll knows formats up to {VERSION}", VERSION + 1);
        assert!(refused.to_string().ends_with(&message), "{refused}");
    }
    said(&url, "update plimsoll.format set version = 1");
    for refused in [Store::open_at(&place(&url)), Store::open_at_to_read(&place(&url))] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, StoreError::Older { found: 1, known: VERSION, .. }), "{refused}");
    }
}

#[test]
#[ignore = "needs postgresql"]
fn six_that_begin_at_once_on_an_empty_database_make_its_tables_and_write_beside_each_other() {
    let url = url();
    let write = |writer: u64| {
        let store = Store::open_at(&place(&url)).unwrap();
        let run = format!("run{writer}");
        let _claim = store.claim(&run).unwrap();
        store.put_run(&entry(&run, writer)).unwrap();
        for number in 1..=20 {
            store.put_trial(&run, &trial(number)).unwrap();
        }
    };
    thread::scope(|scope| (0..6).for_each(|writer| drop(scope.spawn(move || write(writer)))));
    let store = Store::open_at_to_read(&place(&url)).unwrap();
    let all: Vec<TrialRecord> = (1..=20).map(trial).collect();
    for writer in 0..6 {
        assert_eq!(store.trials(&format!("run{writer}")).unwrap(), all);
    }
}

#[test]
#[ignore = "needs postgresql"]
fn a_run_is_claimed_by_one_until_its_session_ends_however_that_ends() {
    let url = url();
    let open = || Store::open_at(&place(&url)).unwrap();
    let (one, other) = (open(), open());
    let claim = one.claim("abc").unwrap();
    let refused = other.claim("abc").unwrap_err();
    let holder = format!("is being carried out by process {}", std::process::id());
    assert!(refused.to_string().contains(&holder), "{refused}");
    assert!(other.is_going_on("abc") && !one.is_going_on("abc"), "by another session");
    drop(claim);
    assert!(!other.is_going_on("abc"));
    let claim = other.claim("abc").unwrap();
    // A killed machine, as the server sees it. The session that comes next claims the run again.
    let end = "select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'plimsoll' and datname = current_database() and pid <> pg_backend_pid()";
    said(&url, end);
    assert!(!Store::open_at_to_read(&place(&url)).unwrap().is_going_on("abc"));
    other.put_run(&entry("abc", 10)).unwrap();
    assert!(Store::open_at_to_read(&place(&url)).unwrap().is_going_on("abc"));
    // Another session may have been quicker.
    said(&url, end);
    let quicker = open().claim("abc").map(|claim| (open(), claim));
    let error = other.put_run(&entry("abc", 10)).unwrap_err();
    assert!(matches!(error, StoreError::Going { .. }), "{error}");
    drop((quicker, claim));
}

#[test]
#[ignore = "needs postgresql"]
fn who_may_only_read_reads() {
    let url = url();
    let writer = Store::open_at(&place(&url)).unwrap();
    writer.put_run(&entry("abc", 10)).unwrap();
    let _claim = writer.claim("abc").unwrap();
    said(
        &url,
        "create role reader login; grant usage on schema plimsoll to reader;
        grant select on all tables in schema plimsoll to reader;",
    );
    let reader = Store::open_at_to_read(&place(&url.replace("plimsoll@", "reader@"))).unwrap();
    assert_eq!(reader.run("abc").unwrap(), Some(entry("abc", 10)));
    assert!(reader.is_going_on("abc"));
    let error = reader.put_remark("abc", "mine").unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
}

#[test]
#[ignore = "needs postgresql"]
fn how_far_a_run_is_is_seen_by_others_while_it_goes_on() {
    let url = url();
    let (writer, reader) =
        (Store::open_at(&place(&url)).unwrap(), Store::open_at_to_read(&place(&url)).unwrap());
    let claim = writer.claim("abc").unwrap();
    let file = writer.under_way_file("abc");
    assert!(reader.under_way().is_empty(), "nothing was said yet");
    let state = UnderWay { run: "abc".into(), trials_done: 1, ..UnderWay::default() };
    file.write(&state).unwrap();
    // It is written by a thread of its own.
    let begun = std::time::Instant::now();
    while reader.under_way().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing was written");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(reader.under_way_of("abc").unwrap().trials_done, 1);
    drop(claim);
    assert!(reader.under_way().is_empty());
}

#[test]
#[ignore = "needs postgresql"]
fn a_run_is_the_same_when_it_comes_back_from_a_server() {
    let (folder, mine) = in_a_folder();
    let (_other_folder, other) = in_a_folder();
    let text = Packing::new(&b"Requests per second: 5"[..]).finish("ab.txt").unwrap();
    let run = RunEntry {
        status: RunStatus::Complete,
        elapsed: Duration::from_nanos(1_234_567_891),
        ..entry("abc", 10)
    };
    mine.put_imported(&run, &[text]).unwrap();
    (1..=3).for_each(|number| mine.put_trial("abc", &trial(number)).unwrap());
    mine.put_versions("abc", &serde_json::json!({ "plimsoll": "0.1.0" })).unwrap();
    mine.put_inventories("abc", &[("server".to_owned(), serde_json::json!({ "a": 0.1 }))].into()).unwrap();
    mine.add_tags("abc", &["slow".to_owned()]).unwrap();
    mine.put_remark("abc", "why?").unwrap();
    let figure = Figure { name: "f".into(), unit: "1/s".into(), value: 0.1, interval: Some((0.0, 0.3)) };
    mine.put_figures("abc", &[figure]).unwrap();
    // A file of more than one piece.
    let packets: Vec<u8> = (0..3_000_000_u32).map(|n| n.wrapping_mul(n).to_le_bytes()[1]).collect();
    let path = folder.path().join("captures/abc/1.pcap");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, &packets).unwrap();
    let server = store();
    let copied = |was_there| Copied { trials: 3, files: 1, was_there };
    assert_eq!(mine.copy_run("abc", &server).unwrap(), copied(false));
    assert_eq!(mine.copy_run("abc", &server).unwrap(), copied(true), "once is enough");
    assert_eq!(server.copy_run("abc", &other).unwrap(), copied(false));
    assert_eq!(server.copy_run("abc", &mine).unwrap(), copied(true));
    for store in [&server, &other] {
        assert_eq!(store.run("abc").unwrap(), mine.run("abc").unwrap());
        assert_eq!(store.trials("abc").unwrap(), mine.trials("abc").unwrap());
        assert_eq!(store.labels_of("abc").unwrap(), mine.labels_of("abc").unwrap());
        assert_eq!(store.figures("flood-relay").unwrap(), mine.figures("flood-relay").unwrap());
        assert_eq!(store.inventories("abc").unwrap(), mine.inventories("abc").unwrap());
        assert_eq!(store.versions("abc").unwrap(), mine.versions("abc").unwrap());
        assert_eq!(store.imported("abc").unwrap(), mine.imported("abc").unwrap());
    }
    let back = other.place().folder().join("captures/abc/1.pcap");
    assert!(std::fs::read(back).unwrap() == packets);
}

#[test]
#[ignore = "needs postgresql"]
fn a_run_that_went_on_is_copied_over_what_there_is_of_it_and_nothing_else_is() {
    let (_folder, mine) = in_a_folder();
    let server = store();
    mine.put_run(&entry("abc", 10)).unwrap();
    (1..=2).for_each(|number| mine.put_trial("abc", &trial(number)).unwrap());
    mine.put_phase("abc", &trial(3), 0, &phase("baseline", 0)).unwrap();
    mine.copy_run("abc", &server).unwrap();
    server.put_baseline("release", "abc").unwrap();
    mine.forget_unended("abc").unwrap();
    let further = TrialRecord { setup_us: 8, ..trial(4) };
    mine.put_trial("abc", &further).unwrap();
    assert!(!mine.copy_run("abc", &server).unwrap().was_there);
    assert_eq!(server.trials("abc").unwrap(), mine.trials("abc").unwrap());
    assert_eq!(server.baseline("release").unwrap().as_deref(), Some("abc"), "what is said there stays");
    let why = |to: &Store| mine.copy_run("abc", to).unwrap_err().to_string();
    server.put_trial("abc", &trial(5)).unwrap();
    assert!(why(&server).contains("it has got trial 5 there, and not here"), "{}", why(&server));
    server.database.execute("delete from trials where number = 5", &[]).unwrap();
    server.put_trial("abc", &TrialRecord { setup_us: 9, ..trial(2) }).unwrap();
    assert!(why(&server).contains("trial 2 was measured once more there"), "{}", why(&server));
    let (_folder, other) = in_a_folder();
    other.put_run(&entry("abc", 11)).unwrap();
    assert!(why(&other).contains("it is another run of that name"), "{}", why(&other));
    assert!(other.trials("abc").unwrap().is_empty());
}
