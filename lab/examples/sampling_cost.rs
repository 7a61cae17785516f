//! Prints the cost of reading the counters, and that of the usual tools.
//!
//! `cargo run --release --example sampling_cost`; vmstat and iostat are in the packages procps and sysstat, nstat
//! is in iproute2. With `light` it only reads these counters 1,000 times, for comparisons that measure the process. CPU time is that of this thread and of the tools' processes, so other work on the machine matters little.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use plimsoll_probe::{Counters, Depth, Sampler, Scope, Series, connections};

fn cpu_us(who: UsageWho) -> f64 {
    getrusage(who).map_or(0.0, |usage| (usage.user_time() + usage.system_time()).num_microseconds() as f64)
}

/// Mean CPU time of one call, in microseconds.
fn cost(who: UsageWho, repeats: u32, mut call: impl FnMut()) -> f64 {
    call();
    let before = cpu_us(who);
    for _ in 0..repeats {
        call();
    }
    (cpu_us(who) - before) / f64::from(repeats)
}

/// CPU time of each further sample of a tool that keeps running.
fn per_sample(command: &[&str]) -> f64 {
    let run = |samples: u32| {
        let samples = samples.to_string();
        let all = command.iter().chain([&samples.as_str()]).copied().collect::<Vec<_>>();
        once(&all);
    };
    let spent = |samples| {
        let before = cpu_us(UsageWho::RUSAGE_CHILDREN);
        run(samples);
        cpu_us(UsageWho::RUSAGE_CHILDREN) - before
    };
    let few = spent(2);
    (spent(12) - few) / 10.0
}

fn once(command: &[&str]) {
    let status =
        Command::new(command[0]).args(&command[1..]).env("LC_ALL", "C").stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!("{command:?}: {other:?}"),
    }
}

fn main() {
    let root = Path::new("/");
    let mut all = Counters::open(root).expect("counters");
    if std::env::args().nth(1).is_some_and(|what| what == "light") {
        for _ in 0..1000 {
            drop(all.read(Depth::Light));
        }
        return;
    }
    let mut own = Counters::open_scope(root, Scope::HostOnly).expect("counters");
    println!("one reading, in microseconds of CPU:");
    let thread = UsageWho::RUSAGE_THREAD;
    for (name, depth, repeats) in [("light", Depth::Light, 2000), ("deep", Depth::Deep, 50)] {
        let values = all.read(depth).values.len();
        println!("  {name:<24} {:9.1}   {values} values", cost(thread, repeats, || drop(all.read(depth))));
    }
    let host_only = cost(thread, 2000, || drop(own.read(Depth::Light)));
    println!("  {:<24} {host_only:9.1}", "light, host only");
    let polled = cost(thread, 50, || {
        connections(true).expect("connections");
    });
    println!("  {:<24} {polled:9.1}", "connections()");

    println!("a series at 10 Hz, in microseconds of CPU per sample:");
    for series in [Series::Changes, Series::Full] {
        let counters = Counters::open(root).expect("counters");
        let sampler = Sampler::start(counters, 10, series, drop).expect("a sampler");
        thread::sleep(Duration::from_secs(10));
        let cost = sampler.stop();
        println!("  {:<24} {:9.1}", format!("{series:?}"), cost.cpu_us as f64 / cost.samples as f64);
    }

    println!("other tools, in microseconds of CPU:");
    for command in [&["vmstat"][..], &["nstat", "-as"], &["iostat", "-x"]] {
        println!("  {:<24} {:9.1}", command.join(" "), cost(UsageWho::RUSAGE_CHILDREN, 50, || once(command)));
    }
    for command in [&["vmstat", "1"][..], &["iostat", "-x", "1"], &["sar", "-A", "1"]] {
        println!("  {:<24} {:9.1}   per further sample", command.join(" "), per_sample(command));
    }
}
