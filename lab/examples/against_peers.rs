//! Measures the HTTP generator against its peers, in turns, on one server:
//!
//! `against_peers [rounds=7] [seconds=3] [connections=50] [pipeline=16] [nginx=PATH] [before=FOLDER] [secure] [PEER...]`
//!
//! Peers are `wrk`, `ab`, `oha` and `h2load`; by default those that are installed. With `before`, the only peer is the `generate` of an earlier build
//! in FOLDER, and all run where this program may. nginx with one worker serves on CPU 0, each generator runs on CPU 1, and the figure is the number of requests per second of its own CPU
//! time (user and system, wait4(2)). A round runs each generator once, in an order that rotates. The table has the median over rounds of
//! `ours / peer`, round by round, and the range. Kept connections are measured twice, with one request at a time on each and with `pipeline`;
//! peers that can only do the first do it both times. With `secure` it is TLS 1.3 and HTTP/2, which `oha` and `h2load` speak: kept connections of
//! HTTP/1.1, and of HTTP/2 with one stream and with 10. The generator checks the server's certificate, the others do not.

use std::error::Error;
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use plimsoll_lab::load::programs;
use plimsoll_lab::rounds::{median, ratio};
use plimsoll_model::frame::CERTIFIED_NAME;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use wait4::Wait4;

type Failed = Box<dyn Error>;

const SERVER_CPU: usize = 0;
const CLIENT_CPU: usize = 1;
const PORT: u16 = 18080;

/// Use of connections by requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    /// Number of requests in flight on kept connections.
    Kept(u32),
    /// Each request on a connection of its own.
    Alone,
    /// One request at a time on kept connections, over TLS.
    Secure,
    /// Number of requests in flight on kept HTTP/2 connections over TLS.
    Streams(u32),
}

/// A generator, and the form of its command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Ours,
    /// An earlier build of ours.
    Before,
    Wrk,
    Ab,
    Oha,
    H2load,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Before => "before",
            Self::Wrk => "wrk",
            Self::Ab => "ab",
            Self::Oha => "oha",
            Self::H2load => "h2load",
        }
    }

    /// Whether it can send requests in this scenario.
    fn can(self, scenario: Scenario) -> bool {
        match self {
            Self::Ours | Self::Before | Self::Oha => true,
            Self::Wrk | Self::Ab => matches!(scenario, Scenario::Kept(_) | Scenario::Alone),
            Self::H2load => matches!(scenario, Scenario::Secure | Scenario::Streams(_)),
        }
    }

    /// The command line. wrk's pipeline is a script in `folder`.
    fn command(self, scenario: Scenario, settings: &Settings, folder: &Path) -> Result<Command, Failed> {
        let kept = scenario != Scenario::Alone;
        let scheme =
            if matches!(scenario, Scenario::Secure | Scenario::Streams(_)) { "https" } else { "http" };
        let (url, c, s) = (
            format!("{scheme}://127.0.0.1:{PORT}/"),
            settings.connections.to_string(),
            settings.seconds.to_string(),
        );
        let mut command = Command::new(self.name());
        match self {
            Self::Ours | Self::Before => {
                let programs = match &settings.before {
                    Some(before) if self == Self::Before => before.clone(),
                    _ => programs()?,
                };
                command = Command::new(programs.join("generate"));
                command.arg(format!("127.0.0.1:{PORT}")).arg(format!("seconds={s}"));
                command.arg(format!("concurrency={c}"));
                match scenario {
                    Scenario::Kept(pipeline) => command.arg("requests=0").arg(format!("pipeline={pipeline}")),
                    Scenario::Alone => command.arg("requests=1"),
                    Scenario::Secure => command.arg("requests=0").arg(authority(folder)),
                    Scenario::Streams(streams) => command
                        .args(["requests=0", "version=http2"])
                        .arg(format!("streams={streams}"))
                        .arg(authority(folder)),
                };
            }
            Self::Wrk => {
                command.args(["-t1", &format!("-c{c}"), &format!("-d{s}s")]);
                command.args(if kept { &[][..] } else { &["-H", "Connection: close"] }).arg(url);
                if let Scenario::Kept(pipeline @ 2..) = scenario {
                    let script = folder.join("several.lua");
                    std::fs::write(&script, several(pipeline))?;
                    command.arg("-s").arg(script);
                }
            }
            Self::Ab => {
                command.args(["-q", "-t", &s, "-n", "100000000", "-c", &c]);
                command.args(if kept { &["-k"][..] } else { &[] }).arg(url);
            }
            Self::Oha => {
                command.args(["--no-tui", "-z", &format!("{s}s"), "-c", &c]);
                command.args(if kept { &[][..] } else { &["--disable-keepalive"] });
                match scenario {
                    Scenario::Secure => drop(command.arg("--insecure")),
                    Scenario::Streams(streams) => {
                        command.args(["--insecure", "--http2", "-p", &streams.to_string()]);
                    }
                    Scenario::Kept(_) | Scenario::Alone => {}
                }
                command.arg(url);
            }
            Self::H2load => {
                command.args(["-t", "1", "-D", &s, "-c", &c]);
                match scenario {
                    Scenario::Streams(streams) => command.args(["-m", &streams.to_string()]),
                    _ => command.arg("--h1"),
                };
                command.arg(url);
            }
        }
        Ok(command)
    }

    /// Number of answered requests, from its output.
    fn completed(self, printed: &str) -> Option<f64> {
        let first_number = |line: &str| line.split_whitespace().find_map(|word| word.parse::<f64>().ok());
        let found = |has: &str| printed.lines().find(|line| line.contains(has)).and_then(first_number);
        match self {
            Self::Ours | Self::Before => found("requests  "),
            Self::Wrk => found("requests in"),
            Self::Ab => found("Complete requests:"),
            Self::Oha => found("[200]"),
            Self::H2load => found("requests: "),
        }
    }

    fn is_installed(self) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        self == Self::Ours || std::env::split_paths(&path).any(|folder| folder.join(self.name()).exists())
    }
}

/// Option that names the trusted authority.
fn authority(folder: &Path) -> String {
    format!("authority={}", folder.join("authority.pem").display())
}

/// Makes a certificate for nginx, and an authority that the generator trusts; gives nginx's directives for it.
fn certify(folder: &Path) -> Result<String, Failed> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    std::fs::write(folder.join("authority.pem"), authority.self_signed(&key)?.pem())?;
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new([CERTIFIED_NAME.to_owned()])?.signed_by(&key, &issuer)?;
    let (file, key_file) = (folder.join("certificate.pem"), folder.join("key.pem"));
    std::fs::write(&file, certificate.pem())?;
    std::fs::write(&key_file, key.serialize_pem())?;
    let (file, key_file) = (file.display(), key_file.display());
    Ok(format!("ssl_protocols TLSv1.3; ssl_certificate {file}; ssl_certificate_key {key_file};"))
}

/// Lua script that makes wrk pipeline this many requests.
fn several(pipeline: u32) -> String {
    format!(
        "init = function(args)\n  local all = {{}}\n  for n = 1, {pipeline} do all[n] = wrk.format() end\n  \
         batch = table.concat(all)\nend\nrequest = function() return batch end\n"
    )
}

/// Requests of a generator per second of its own CPU time.
fn measure(tool: Tool, scenario: Scenario, settings: &Settings, folder: &Path) -> Result<f64, Failed> {
    let mut command = tool.command(scenario, settings, folder)?;
    if settings.before.is_none() {
        pin(&mut command, CLIENT_CPU);
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut printed = String::new();
    child.stdout.take().ok_or("no output")?.read_to_string(&mut printed)?;
    let used = child.wait4()?.rusage;
    let completed = tool.completed(&printed).ok_or_else(|| format!("{} printed:\n{printed}", tool.name()))?;
    Ok(completed / (used.utime + used.stime).as_secs_f64())
}

fn pin(command: &mut Command, cpu: usize) {
    let body = move || {
        let mut set = CpuSet::new();
        set.set(cpu)?;
        Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
    };
    #[expect(unsafe_code, reason = "there is no safe scenario to pin a child from its first instruction on")]
    // SAFETY: between fork and exec the body makes one system call and allocates nothing.
    unsafe {
        command.pre_exec(body);
    }
}

/// nginx with one worker and one small document; it is killed when this is dropped.
struct Server(Child);

impl Server {
    fn start(settings: &Settings, folder: &Path) -> Result<Self, Failed> {
        let Settings { nginx, secure, .. } = settings;
        let (ssl, certificate) = if *secure { (" ssl http2", certify(folder)?) } else { ("", String::new()) };
        let configuration = format!(
            "daemon off; master_process off; worker_processes 1; pid {0}/pid; error_log /dev/null;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 60s;\n\
             server {{ listen 127.0.0.1:{PORT} backlog=4096{ssl}; {certificate} location / {{ return 200 \"{1}\"; }} }} }}\n",
            folder.display(),
            "a".repeat(100)
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, configuration)?;
        let mut command = Command::new(nginx);
        command.arg("-c").arg(&file).arg("-e").arg("/dev/null").stderr(Stdio::null());
        if settings.before.is_none() {
            pin(&mut command, SERVER_CPU);
        }
        let server = Self(command.spawn()?);
        let end = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(("127.0.0.1", PORT)).is_err() {
            if Instant::now() > end {
                return Err(format!("{nginx} does not listen on port {PORT}").into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

struct Settings {
    rounds: usize,
    seconds: f64,
    connections: u32,
    pipeline: u32,
    secure: bool,
    nginx: String,
    before: Option<PathBuf>,
    peers: Vec<Tool>,
}

fn settings() -> Result<Settings, Failed> {
    let mut settings = Settings {
        rounds: 7,
        seconds: 3.0,
        connections: 50,
        pipeline: 16,
        secure: false,
        nginx: "nginx".into(),
        before: None,
        peers: Vec::new(),
    };
    let all = [Tool::Wrk, Tool::Ab, Tool::Oha, Tool::H2load];
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("rounds", value)) => settings.rounds = value.parse()?,
            Some(("seconds", value)) => settings.seconds = value.parse()?,
            Some(("connections", value)) => settings.connections = value.parse()?,
            Some(("pipeline", value)) => settings.pipeline = value.parse()?,
            Some(("nginx", value)) => settings.nginx = value.into(),
            Some(("before", value)) => settings.before = Some(value.into()),
            Some((name, _)) => return Err(format!("there is no flag `{name}`").into()),
            None if argument == "secure" => settings.secure = true,
            None => {
                let peer = all.into_iter().find(|tool| tool.name() == argument);
                settings.peers.push(peer.ok_or_else(|| format!("there is no peer `{argument}`"))?);
            }
        }
    }
    if settings.before.is_some() {
        settings.peers = vec![Tool::Before];
    } else if settings.peers.is_empty() {
        settings.peers = all.into_iter().filter(|tool| tool.is_installed()).collect();
    }
    Ok(settings)
}

fn main() -> Result<(), Failed> {
    let settings = settings()?;
    let folder: PathBuf = tempfile::tempdir()?.keep();
    let server = Server::start(&settings, &folder)?;
    println!("| what | peer | peer, per CPU second | ours, per CPU second | ours / peer |");
    println!("| --- | --- | --- | --- | --- |");
    let at_a_time = format!("requests, kept alive, {} at a time", settings.pipeline);
    let secure = [
        (Scenario::Secure, "HTTP/1.1 over TLS, kept alive"),
        (Scenario::Streams(1), "HTTP/2 over TLS, kept alive, one stream"),
        (Scenario::Streams(10), "HTTP/2 over TLS, kept alive, 10 streams"),
    ];
    let plain = [
        (Scenario::Kept(1), "requests, kept alive"),
        (Scenario::Kept(settings.pipeline), &at_a_time),
        (Scenario::Alone, "connections, one request each"),
    ];
    for (scenario, what) in if settings.secure { secure } else { plain } {
        let peers: Vec<Tool> = settings.peers.iter().copied().filter(|peer| peer.can(scenario)).collect();
        let mut tools = peers.clone();
        tools.push(Tool::Ours);
        let mut found: Vec<Vec<f64>> = vec![Vec::new(); tools.len()];
        for round in 0..settings.rounds {
            for place in 0..tools.len() {
                let nth = (round + place) % tools.len();
                found[nth].push(measure(tools[nth], scenario, &settings, &folder)?);
            }
        }
        let ours = found.pop().unwrap_or_default();
        for (tool, theirs) in peers.iter().zip(&found) {
            let name = tool.name();
            let ratio = ratio(&format!("{what}, {name}"), &ours, theirs);
            println!("| {what} | `{name}` | {:.0} | {:.0} | {ratio} |", median(theirs), median(&ours));
        }
    }
    drop(server);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
