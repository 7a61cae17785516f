//! A small agent, which reads a command per line and answers each with a line, and its client for the tests.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, socket};
use plimsoll_host::{Pipes, Rig};

use crate::traffic;

/// The argument that makes this program an agent.
pub(crate) const ARGUMENT: &str = "test-agent";

/// The agent's side. It ends with its controller.
pub(crate) fn run() -> ExitCode {
    for line in io::stdin().lines() {
        let Ok(line) = line else { break };
        let (command, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let answer = match command {
            "serve" => serve(rest),
            "echo" => traffic::echo(rest),
            "ping" => traffic::ping(rest),
            "volley" => traffic::volley(rest),
            "sink" => traffic::sink(rest),
            "pour" => traffic::pour(rest),
            "mirror" => mirror(rest),
            "fetch" => fetch(rest),
            "read" => fs::read_to_string(rest),
            "write" => rest
                .split_once(' ')
                .map_or(Ok(()), |(path, text)| fs::write(path, text))
                .map(|()| "ok".into()),
            "interfaces" => fs::read_to_string("/proc/net/dev").map(|t| interfaces(&t)),
            "processes" => processes(),
            "breed" => breed(rest),
            "rules" => rules(rest),
            other => Err(io::Error::other(format!("unknown command {other}"))),
        };
        let answer = answer.unwrap_or_else(|e| format!("error: {e}"));
        if writeln!(io::stdout(), "{}", answer.trim().replace('\n', " / ")).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// Sends the name of this host on each connection.
fn serve(address: &str) -> io::Result<String> {
    let listener = TcpListener::bind(address)?;
    let name = fs::read_to_string("/proc/sys/kernel/hostname")?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _gone = (&stream).write_all(name.as_bytes());
        }
    });
    Ok("ok".into())
}

/// Sends the peer's address on each connection.
fn mirror(address: &str) -> io::Result<String> {
    let listener = TcpListener::bind(address)?;
    thread::spawn(move || {
        while let Ok((mut stream, from)) = listener.accept() {
            let _gone = stream.write_all(from.to_string().as_bytes());
        }
    });
    Ok("ok".into())
}

/// Reads the reply of an address, from a certain address of this host if one is given.
fn fetch(words: &str) -> io::Result<String> {
    let (to, from) = words.split_once(' ').map_or((words, None), |(to, from)| (to, Some(from)));
    let to: SocketAddr = to.parse().map_err(io::Error::other)?;
    let mut stream = match from {
        None => TcpStream::connect_timeout(&to, Duration::from_secs(5))?,
        Some(from) => connect_from(from.parse().map_err(io::Error::other)?, to)?,
    };
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn connect_from(from: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(from, 0)))?;
    connect(socket.as_raw_fd(), &SockaddrStorage::from(to))?;
    Ok(socket.into())
}

fn interfaces(dev: &str) -> String {
    let names = dev.lines().filter_map(|l| l.split_once(':')).map(|(name, _)| name.trim());
    names.filter(|n| *n == "lo" || n.starts_with("eth")).collect::<Vec<_>>().join(" ")
}

fn processes() -> io::Result<String> {
    let numbers =
        fs::read_dir("/proc")?.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    Ok(numbers.count().to_string())
}

/// Leaves `number` orphans, in sessions of their own as far as the shell can, that ignore polite signals.
fn breed(number: &str) -> io::Result<String> {
    let script =
        format!("trap '' HUP TERM INT; i=0; while [ $i -lt {number} ]; do sleep 1000 & i=$((i+1)); done");
    let status =
        Command::new("/bin/sh").args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    Ok(status.to_string())
}

/// Adds `number` routing-policy rules; an error if one of them exists already.
fn rules(number: &str) -> io::Result<String> {
    let number: u32 = number.parse().map_err(io::Error::other)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let (connection, handle, _) = rtnetlink::new_connection()?;
        tokio::spawn(connection);
        for n in 0..number {
            let rule = handle.rule().add().v4().fw_mark(n + 1).table_id(254).priority(1000 + n);
            rule.execute().await.map_err(io::Error::other)?;
        }
        Ok("ok".into())
    })
}

/// The controller's side.
pub(crate) struct Agent {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Agent {
    pub(crate) fn of(rig: &mut Rig, host: &str) -> Self {
        let Pipes { stdin, stdout, .. } = rig.pipes(host).expect("the pipes were not taken before");
        Self { stdin, stdout: BufReader::new(stdout) }
    }

    pub(crate) fn ask(&mut self, command: &str) -> String {
        writeln!(self.stdin, "{command}").expect("the agent reads");
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).expect("the agent answers");
        answer.trim_end().to_owned()
    }

    /// Closes the agent's stdin, and reads on until its stdout ends.
    pub(crate) fn hang_up(mut self) {
        drop(self.stdin);
        self.stdout.read_to_end(&mut Vec::new()).expect("its stdout ends");
    }
}
