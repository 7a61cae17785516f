//! Open loop, end to end: its offered rate, its results, and their difference from a closed loop.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_model::experiment::open_loop::{Arrivals, OpenLoop, Sine};
use plimsoll_model::experiment::service::WebModel;
use plimsoll_model::experiment::{HttpLoad, WebService};
use plimsoll_model::observation::{ErrorKind, LoadResult, Offer};
use plimsoll_model::units::Span;

use crate::fake;
use crate::lifetime::children;
use crate::load::result;
use crate::service::Service;

fn events() -> Service {
    // All that come in a pause of a second have room in the listen queue: where it is full, the kernel forgets a connection that the client
    // counts as made, and resets it later.
    Service::web(WebService {
        model: WebModel::EventLoop,
        clients: 2000,
        backlog: 4096,
        ..WebService::default()
    })
}

/// Requests on kept connections, in open loop.
fn open(open: OpenLoop, length: Span) -> HttpLoad {
    HttpLoad {
        open: Some(open),
        duration: Some(length),
        concurrency: 500,
        requests_per_connection: 0,
        ..HttpLoad::default()
    }
}

fn at(rate: f64) -> OpenLoop {
    OpenLoop { rate, ..OpenLoop::default() }
}

fn offer(found: &LoadResult) -> &Offer {
    found.offer.as_ref().expect("an open loop says what it offered")
}

#[test]
fn every_request_that_is_due_is_sent_and_answered() {
    let web = events();
    let load = HttpLoad { generators: 2, ..open(at(1000.0), Span::millis(1500)) };
    let found = result(&web.addresses, load);
    let offer = offer(&found);
    assert_eq!((offer.due, offer.begun, found.requests, found.failed()), (1500, 1500, 1500, 0));
    assert_eq!(offer.length_ns, 1_500_000_000);
    assert!((offer.offered().unwrap() - 1000.0).abs() < 1e-9);
    assert!(found.connections <= found.requests && !offer.send_lag.is_empty());
}

#[test]
fn every_form_of_a_rate_offers_its_number_of_requests() {
    let web = events();
    let forms = [
        (OpenLoop { ramp_to: Some(1000.0), ..at(0.0) }, 500),
        (OpenLoop { steps: vec![100.0, 700.0, 100.0], ..OpenLoop::default() }, 300),
        (OpenLoop { sine: Some(Sine { amplitude: 400.0, period: Span::millis(500) }), ..at(400.0) }, 400),
    ];
    for (form, expected) in forms {
        let found = result(&web.addresses, open(form.clone(), Span::secs(1)));
        assert!(found.requests.abs_diff(expected) <= 1, "{form:?}: {} requests", found.requests);
        assert_eq!(found.failed(), 0);
        let of_steps: Vec<_> = offer(&found).steps.iter().map(|step| (step.rate, step.end_ns)).collect();
        assert_eq!(of_steps.len(), form.steps.len());
    }
    let poisson = OpenLoop { arrivals: Arrivals::Poisson, ..at(1000.0) };
    let found = result(&web.addresses, HttpLoad { seed: Some(1), ..open(poisson, Span::secs(1)) });
    // Five standard deviations.
    assert!(found.requests.abs_diff(1000) < 160, "{} requests", found.requests);
}

#[test]
fn an_open_loop_may_make_a_connection_for_each_request() {
    let web = events();
    let load = HttpLoad { requests_per_connection: 1, ..open(at(500.0), Span::secs(1)) };
    let found = result(&web.addresses, load);
    assert_eq!((found.connections, found.requests, found.failed()), (500, 500, 0));
}

/// Result of a load whose server, one process, is stopped for a second after a second, and the least time of that pause in µs.
fn beside_a_pause(load: HttpLoad) -> (LoadResult, f64) {
    let web = events();
    let signal = |which| {
        let worker = i32::try_from(children(web.pid())[0]).unwrap();
        kill(Pid::from_raw(worker), which).unwrap();
    };
    thread::scope(|scope| {
        let pause = scope.spawn(|| {
            thread::sleep(Duration::from_secs(1));
            signal(Signal::SIGSTOP);
            let stopped = Instant::now();
            thread::sleep(Duration::from_secs(1));
            let stood = stopped.elapsed();
            signal(Signal::SIGCONT);
            stood.as_secs_f64() * 1e6
        });
        (result(&web.addresses, load), pause.join().unwrap())
    })
}

/// Requests that are due at a time t in a pause of P take P - t, and one in a hundred of a load of four seconds is due in the first 40 ms: the
/// closed form of the 99th percentile is P - 40 ms. P is known in two ways: as long as the server surely stood, which a busy machine adds to
/// when it wakes the server late; and as the slowest request had to wait, to which it adds as much as to those next to it.
#[test]
fn an_open_loop_sees_a_pause_in_full_and_a_closed_loop_does_not() {
    let length = Span::secs(4);
    let (found, stood) = beside_a_pause(HttpLoad { concurrency: 1500, ..open(at(1000.0), length) });
    assert_eq!((found.requests, found.failed()), (4000, 0), "{:?}", found.errors);
    let seen = found.latency.percentiles.p99;
    let closed_form = |pause: f64| pause - 40_000.0;
    let by_the_slowest = seen as f64 / closed_form(found.latency.percentiles.max as f64);
    assert!((0.95..1.05).contains(&by_the_slowest), "{by_the_slowest}: {:?}", found.latency.percentiles);
    assert!(seen as f64 > 0.95 * closed_form(stood), "{seen} µs in a pause of {stood} µs");
    let closed = HttpLoad {
        duration: Some(length),
        concurrency: 1,
        requests_per_connection: 0,
        ..HttpLoad::default()
    };
    let (found, _) = beside_a_pause(closed);
    let percentiles = found.latency.percentiles;
    assert!(
        percentiles.p99 < seen / 4,
        "the one slow request of {} does not show: {percentiles:?}",
        found.requests
    );
    assert!(percentiles.max > 800_000, "{percentiles:?}");
}

#[test]
fn requests_for_which_no_connection_is_free_wait_and_are_given_up_in_the_end() {
    let slow = fake::server(|mut stream| {
        thread::sleep(Duration::from_millis(100));
        stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    let load = HttpLoad {
        concurrency: 1,
        requests_per_connection: 1,
        timeout: Span::millis(500),
        ..open(at(100.0), Span::secs(1))
    };
    let found = result(&[slow], load);
    let offer = offer(&found);
    assert_eq!(offer.due, 100);
    assert_eq!(offer.due, offer.begun + found.errors[&ErrorKind::NoConnection], "{:?}", found.errors);
    assert!(offer.queued > 0 && offer.begun < 20, "{offer:?}");
    assert!(!found.errors.contains_key(&ErrorKind::GeneratorLate), "{:?}", found.errors);
    assert!(found.latency.percentiles.max > 400_000, "the wait counts: {:?}", found.latency.percentiles);
}

#[test]
fn a_rate_that_the_generator_cannot_offer_is_its_own_error() {
    let web = events();
    // Requests that cannot be sent within the timeout are given up; no machine sends a million in a second and a half here.
    let timeout = Span::millis(1500);
    let load = HttpLoad { concurrency: 4000, timeout, ..open(at(5_000_000.0), Span::millis(200)) };
    let found = result(&web.addresses, load);
    let offer = offer(&found);
    assert_eq!(offer.due, 1_000_000);
    assert!(offer.begun < offer.due);
    let late = found.errors.get(&ErrorKind::GeneratorLate).copied().unwrap_or(0);
    let held = found.errors.get(&ErrorKind::NoConnection).copied().unwrap_or(0);
    // Where the server is slower still, all connections are busy before the generator is late.
    assert!(late + held > 0, "{:?}", found.errors);
    assert_eq!(offer.due, offer.begun + late + held);
}

#[test]
fn connections_that_rest_may_be_closed_by_the_server() {
    let web = Service::web(WebService {
        model: WebModel::EventLoop,
        keep_alive: Span::millis(100),
        ..WebService::default()
    });
    let found = result(&web.addresses, open(at(0.5), Span::secs(3)));
    assert_eq!((found.requests, found.connections, found.failed()), (2, 2, 0), "{:?}", found.errors);
}

#[test]
fn steps_are_reported_one_by_one() {
    let web = Service::web(WebService {
        model: WebModel::EventLoop,
        work: Span::millis(5),
        ..WebService::default()
    });
    let steps = vec![50.0, 1000.0, 50.0];
    let load = HttpLoad {
        timeout: Span::millis(300),
        concurrency: 20,
        ..open(OpenLoop { steps, ..OpenLoop::default() }, Span::secs(3))
    };
    let found = result(&web.addresses, load);
    let [up, flood, down] = &offer(&found).steps[..] else { panic!("three steps: {found:?}") };
    assert_eq!((up.due, flood.due, down.due), (50, 1000, 50));
    // 5 ms of CPU time each leave at most 200 of the 1000.
    assert!(flood.requests < 400 && flood.errors > 300, "{flood:?}");
    assert!(flood.latency_us.p90 > 100_000, "{flood:?}");
    let (answered, failed) =
        (up.requests + flood.requests + down.requests, up.errors + flood.errors + down.errors);
    assert!(answered <= found.requests && failed <= found.failed(), "what comes after the end is in no step");
    assert_eq!(found.requests + found.failed(), 1100);
}
