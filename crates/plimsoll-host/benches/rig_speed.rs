//! Times to set up the three-host rig, to rebuild its middle, and to take it down: `cargo bench -p plimsoll-host [-- ROUNDS]`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use plimsoll_host::{AgentStderr, HostError, HostSpec, LinkSpec, Rig, RigSpec};
use plimsoll_model::experiment::HostKind;

fn main() -> ExitCode {
    if let Some(code) = plimsoll_host::stage(std::env::args_os()) {
        return code;
    }
    let rounds = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(50);
    match measure(rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(rounds: usize) -> Result<(), HostError> {
    println!("{:?}, {rounds} rounds; median, worst", plimsoll_host::enter()?);
    let host =
        |name: &str| HostSpec { forward: name == "firewall", ..HostSpec::new(name, HostKind::Namespace) };
    let link = |a: &str, b: &str| LinkSpec::new(a, b);
    let spec = RigSpec {
        hosts: vec![host("client"), host("firewall"), host("server")],
        links: vec![link("client", "firewall"), link("firewall", "server")],
        volumes: vec![],
        program: "/bin/cat".into(),
        args: vec![],
        stderr: AgentStderr::Inherit,
        supervisor: None,
    };
    let (mut set_up, mut rebuild, mut take_down) = (vec![], vec![], vec![]);
    for _ in 0..rounds {
        let mut rig = timed(&mut set_up, || Rig::build(&spec))?;
        timed(&mut rebuild, || rig.rebuild("firewall"))?;
        timed(&mut take_down, || rig.close())?;
    }
    for (what, mut times) in [("set up", set_up), ("rebuild one", rebuild), ("take down", take_down)] {
        times.sort_unstable();
        println!("{what:12} {:8.1?} {:8.1?}", times[times.len() / 2], times[times.len() - 1]);
    }
    Ok(())
}

fn timed<T>(times: &mut Vec<Duration>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    times.push(start.elapsed());
    result
}
