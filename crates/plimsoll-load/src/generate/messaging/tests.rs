use std::sync::atomic::AtomicBool;

use plimsoll_model::experiment::load::messaging::Channel;
use plimsoll_model::units::ByteSize;

use super::*;

const SMALL: u32 = 3;

/// A test has threads beside its own, so that only such workers can be had here; processes are tested from outside.
fn round(over: Channel, size: u64) -> Result<Round, Failure> {
    let load = MessagingLoad {
        groups: 2,
        pairs: SMALL,
        messages: 20,
        size: ByteSize(size),
        over,
        workers: Workers::Threads,
        ..MessagingLoad::default()
    };
    Round::carry_out(&load, true, &mut Look { every: Duration::from_secs(1), report: &mut |_| () })
}

#[test]
fn every_message_arrives_also_where_none_fits_into_a_buffer() {
    for over in [Channel::Sockets, Channel::Pipes] {
        for size in [1, 100, 300_000] {
            let round = round(over, size).unwrap();
            assert!(round.end > round.start && round.memory.is_some());
        }
    }
}

#[test]
fn a_round_that_takes_long_shows_how_far_it_is() {
    let load = MessagingLoad {
        groups: 2,
        pairs: SMALL,
        messages: 20_000,
        over: Channel::Pipes,
        workers: Workers::Threads,
        ..MessagingLoad::default()
    };
    let mut shares = Vec::new();
    let mut report = |share| shares.push(share);
    Round::carry_out(&load, false, &mut Look { every: Duration::from_millis(5), report: &mut report })
        .unwrap();
    assert!(shares.is_sorted(), "{shares:?}");
    assert!(shares.iter().any(|share| (0.1..0.9).contains(share)), "{shares:?}");
}

#[test]
fn workers_that_wait_are_sent_home_when_their_round_is_called_off() {
    let load = MessagingLoad { groups: 1, pairs: SMALL, ..MessagingLoad::default() };
    let gate = Arc::new(Gate::new().unwrap());
    let crew = Threads::assemble(&load, &gate).unwrap();
    gate.wait_for(load.workers(), || crew.has_lost_one()).unwrap();
    drop(crew);
    assert_eq!(Arc::strong_count(&gate), 1, "no thread has it any more");
}

#[test]
fn a_receiver_whose_senders_are_gone_fails_and_does_not_wait() {
    let gate = Gate::new().unwrap();
    let load = MessagingLoad { groups: 1, pairs: 1, messages: 1, ..MessagingLoad::default() };
    let (own, senders) = std::os::unix::net::UnixStream::pair().unwrap();
    drop(senders);
    gate.open().unwrap();
    assert_eq!(worker::receive(&load, &gate, &own.into()), Err(nix::errno::Errno::EPIPE));
}

#[test]
fn a_process_with_other_threads_does_not_fork() {
    let (end, until) = channel::<()>();
    let other = thread::spawn(move || until.recv().is_err());
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    let load = MessagingLoad { rounds: Some(1), ..MessagingLoad::default() };
    let spec = LoadSpec {
        name: "crowd".into(),
        targets: Vec::new(),
        sources: Vec::new(),
        trust: None,
        volume: None,
        kind: load.clone().into(),
    };
    let failure = run(&spec, &load, &control).unwrap_err().to_string();
    assert!(failure.contains("it forks, and this process has"), "{failure}");
    drop(end);
    assert!(other.join().unwrap());
}
