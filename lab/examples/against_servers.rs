//! Measures the loads for DNS and PostgreSQL against `dnsperf` and `pgbench`, in turns, on one server that it starts:
//!
//! `against_servers [rounds=5] [seconds=3] [clients=8] [scale=10] [before=FOLDER] [dns] [postgres]`
//!
//! unbound answers from names of its own; PostgreSQL has the tables of pgbench, and does not wait for its disk at a commit. Each pair asks the same, the
//! same number at a time, one after the other, and who begins changes from round to round. The table has median and range over the rounds of `ours / theirs`:
//! of what was done, and of what was done in a second of the generator's own CPU time. With `before`, theirs are the loads of an earlier build
//! in FOLDER.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::unistd::Pid;
use plimsoll_lab::load;
use plimsoll_lab::pairs::Outcome;
use plimsoll_lab::rounds::{median, ratio};
use plimsoll_model::frame::{LoadKind, LoadSpec};
use serde_json::json;
use wait4::Wait4;

/// Options of setpriv(1) for servers that refuse to run as root.
const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];
const NAMES: [&str; 4] =
    ["www.plimsoll.test A", "www.plimsoll.test AAAA", "plimsoll.test MX", "nothing.plimsoll.test A"];

struct Settings {
    rounds: usize,
    seconds: f64,
    clients: u32,
    scale: u32,
    before: Option<PathBuf>,
    dns: bool,
    postgres: bool,
}

fn settings() -> Outcome<Settings> {
    let mut settings = Settings {
        rounds: 5,
        seconds: 3.0,
        clients: 8,
        scale: 10,
        before: None,
        dns: false,
        postgres: false,
    };
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("rounds", value)) => settings.rounds = value.parse()?,
            Some(("seconds", value)) => settings.seconds = value.parse()?,
            Some(("clients", value)) => settings.clients = value.parse()?,
            Some(("scale", value)) => settings.scale = value.parse()?,
            Some(("before", value)) => settings.before = Some(value.into()),
            None if argument == "dns" => settings.dns = true,
            None if argument == "postgres" => settings.postgres = true,
            _ => return Err(format!("there is no flag `{argument}`").into()),
        }
    }
    if !settings.dns && !settings.postgres {
        (settings.dns, settings.postgres) = (true, true);
    }
    Ok(settings)
}

/// A server; it is ended when this is dropped.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(mut command: Command, address: SocketAddr) -> Outcome<Self> {
        let server = Self { process: spawn(command.stdout(Stdio::null()))?, address };
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > end {
                return Err("the server does not listen".into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = Pid::from_raw(self.process.id() as i32);
        // It may have ended already.
        let _ = nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGINT);
        drop(self.process.wait());
    }
}

fn spawn(command: &mut Command) -> Outcome<Child> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|error| format!("{name} cannot be started: {error}").into())
}

fn free() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn unbound(folder: &Path) -> Outcome<Server> {
    let address = free()?;
    let file = folder.join("unbound.conf");
    let (port, folder) = (address.port(), folder.display());
    std::fs::write(
        &file,
        format!(
            r#"server:
    do-daemonize: no
    chroot: ""
    username: ""
    directory: "{folder}"
    pidfile: "{folder}/pid"
    use-syslog: no
    verbosity: 0
    interface: 127.0.0.1@{port}
    module-config: "iterator"
    local-zone: "plimsoll.test." static
    local-data: "www.plimsoll.test. 3600 IN A 192.0.2.1"
    local-data: "www.plimsoll.test. 3600 IN AAAA 2001:db8::1"
    local-data: "plimsoll.test. 3600 IN MX 10 mail.plimsoll.test."
remote-control:
    control-enable: no
"#
        ),
    )?;
    let mut command = Command::new("unbound");
    command.arg("-d").arg("-c").arg(file);
    Server::start(command, address)
}

/// The programs of the newest PostgreSQL that is installed.
fn newest() -> Outcome<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .collect();
    found.sort();
    found.pop().ok_or_else(|| "PostgreSQL is not installed".into())
}

fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(NOBODY).arg(program);
    command
}

fn postgresql(folder: &Path, scale: u32) -> Outcome<Server> {
    let (address, bin) = (free()?, newest()?);
    std::os::unix::fs::chown(folder, Some(65_534), Some(65_534))?;
    let data = folder.join("data");
    let made = as_nobody(&bin.join("initdb"))
        .args(["--username=plimsoll", "--auth=trust", "--no-locale", "--no-sync", "--pgdata"])
        .arg(&data)
        .stdout(Stdio::null())
        .status()?;
    if !made.success() {
        return Err("initdb failed".into());
    }
    let mut command = as_nobody(&bin.join("postgres"));
    command.arg("-D").arg(&data).args(["-c", "listen_addresses=127.0.0.1", "-c", "synchronous_commit=off"]);
    command
        .args(["-c", "unix_socket_directories=", "-c", "max_connections=300", "-p"])
        .arg(address.port().to_string());
    command.stderr(Stdio::null());
    let server = Server::start(command, address)?;
    let port = address.port().to_string();
    let end = Instant::now() + Duration::from_secs(60);
    let is_ready = || {
        Command::new(bin.join("pg_isready")).args(["--quiet", "--host=127.0.0.1", "--port", &port]).status()
    };
    while !is_ready()?.success() {
        if Instant::now() > end {
            return Err("PostgreSQL takes no connections".into());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let filled = Command::new(bin.join("pgbench"))
        .args(["--initialize", "--quiet", "--host=127.0.0.1", "--username=plimsoll", "--port", &port])
        .arg(format!("--scale={scale}"))
        .arg("postgres")
        .stderr(Stdio::null())
        .status()?;
    if filled.success() { Ok(server) } else { Err("pgbench --initialize failed".into()) }
}

/// Operations per second, and per second of CPU time.
type Rates = (f64, f64);

fn ours(programs: &Path, kind: LoadKind, address: SocketAddr) -> Outcome<Rates> {
    let spec = LoadSpec {
        name: "load".into(),
        targets: vec![address],
        sources: Vec::new(),
        trust: None,
        volume: None,
        kind,
    };
    let done = load::run(programs, &spec)?;
    let requests = done.requests as f64;
    Ok((requests / done.seconds(), requests / done.cpu()))
}

/// Runs a program to its end. Rate and number stand behind these words.
fn theirs(mut command: Command, rate: &str, number: &str) -> Outcome<Rates> {
    let mut child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::null()))?;
    let mut printed = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut printed)?;
    let ended = child.wait4()?;
    let behind = |words: &str| {
        let text = printed.split(words).nth(1)?;
        text.trim_start().split(|c: char| !c.is_ascii_digit() && c != '.').next()?.parse::<f64>().ok()
    };
    let (Some(rate), Some(number)) = (behind(rate), behind(number)) else {
        return Err(format!("not understood:\n{printed}").into());
    };
    Ok((rate, number / (ended.rusage.utime + ended.rusage.stime).as_secs_f64()))
}

fn compare(
    what: &str,
    rounds: usize,
    ours: impl Fn() -> Outcome<Rates>,
    theirs: impl Fn() -> Outcome<Rates>,
) -> Outcome<()> {
    let (mut rates, mut work) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..rounds {
        for place in 0..2 {
            let side = (round + place) % 2;
            let (rate, per_cpu_second) = if side == 1 { ours()? } else { theirs()? };
            rates[side].push(rate);
            work[side].push(per_cpu_second);
        }
    }
    let [theirs, ours] = &rates;
    println!(
        "| {what} | {:.0} | {:.0} | {} | {} |",
        median(theirs),
        median(ours),
        ratio(&format!("{what}, rate"), ours, theirs),
        ratio(&format!("{what}, per CPU second"), &work[1], &work[0])
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let Settings { rounds, seconds, clients, scale, before, dns, postgres } = settings()?;
    let programs = load::programs()?;
    let length = format!("{}ms", (seconds * 1e3).round());
    let folder = tempfile::tempdir()?;
    println!("| what | theirs/s | ours/s | ours/theirs | the same per CPU second |");
    println!("| --- | --- | --- | --- | --- |");
    if dns {
        let server = unbound(folder.path())?;
        let names = folder.path().join("names");
        std::fs::write(&names, NAMES.join("\n") + "\n")?;
        for over in ["udp", "tcp"] {
            let kind = json!({ "dns": {
                "names": NAMES, "concurrency": 50, "over": over, "duration": length,
            } });
            let command = || {
                let mut command = Command::new("dnsperf");
                command.args([
                    "-m",
                    over,
                    "-s",
                    "127.0.0.1",
                    "-p",
                    &server.address.port().to_string(),
                    "-q",
                    "50",
                ]);
                command.args(["-l", &seconds.to_string(), "-d"]).arg(&names);
                command
            };
            compare(
                &format!("questions over {}, 50 at a time, against dnsperf", over.to_uppercase()),
                rounds,
                || ours(&programs, serde_json::from_value(kind.clone())?, server.address),
                || match &before {
                    Some(before) => ours(before, serde_json::from_value(kind.clone())?, server.address),
                    None => theirs(command(), "Queries per second:", "Queries completed:"),
                },
            )?;
        }
    }
    if postgres {
        let place = folder.path().join("postgresql");
        std::fs::create_dir(&place)?;
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let (server, bin) = (postgresql(&place, scale)?, newest()?);
        for (script, theirs_name) in [("tpcb_like", "tpcb-like"), ("select_only", "select-only")] {
            for protocol in ["simple", "prepared"] {
                let kind = json!({ "postgres": {
                    "script": script, "protocol": protocol, "scale": scale, "clients": clients, "user": "plimsoll",
                    "duration": length,
                } });
                let command = || {
                    let mut command = Command::new(bin.join("pgbench"));
                    command.args(["--no-vacuum", "--host=127.0.0.1", "--username=plimsoll", "--port"]);
                    command.arg(server.address.port().to_string()).arg(format!("--client={clients}"));
                    command.arg(format!("--time={seconds}")).arg(format!("--builtin={theirs_name}"));
                    command.arg(format!("--protocol={protocol}")).arg("postgres");
                    command
                };
                compare(
                    &format!("{theirs_name}, {protocol}, {clients} clients, scale {scale}, against pgbench"),
                    rounds,
                    || ours(&programs, serde_json::from_value(kind.clone())?, server.address),
                    || match &before {
                        Some(before) => ours(before, serde_json::from_value(kind.clone())?, server.address),
                        None => theirs(command(), "tps = ", "number of transactions actually processed:"),
                    },
                )?;
            }
        }
    }
    Ok(())
}
