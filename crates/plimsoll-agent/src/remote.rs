//! Differences on a host that existed before: the controller may disconnect without notice, and changes outlive the
//! agent unless it restores them.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use nix::ifaddrs::getifaddrs;
use nix::unistd::{geteuid, gethostname};
use plimsoll_model::frame::{self, FromAgent, Greeting, PROTOCOL, ToAgent};

use crate::Agent;
use crate::outbox::Outbox;

/// Changes settings of the machine, all or none, by dotted name and value. Dropping the returned value restores them, and so does the death of
/// this process.
pub type ChangeSettings = fn(&BTreeMap<String, String>) -> Result<Box<dyn Any + Send>, String>;

/// The environment variable that names the folder in which the agent was brought along.
const BROUGHT: &str = "PLIMSOLL_BROUGHT";
/// File name of the agent in it.
const PROGRAM: &str = "plimsoll";
/// Deadline for an abandoned agent to end its services. Then it exits at once, and the kernel ends its children.
const ENDING: Duration = Duration::from_secs(10);
/// Time between two checks whether the controller is silent.
const LOOK: Duration = Duration::from_millis(250);
/// How long the last frames may take to be sent.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Removes the file of this program and its folder if they were brought along for the run: a running process needs neither.
pub(crate) fn leave_no_file() {
    let Some(folder) = env::var_os(BROUGHT) else { return };
    let program = Path::new(&folder).join(PROGRAM);
    let is_this = |path: &Path| {
        let (there, here) = (fs::metadata(path).ok()?, fs::metadata("/proc/self/exe").ok()?);
        Some((there.dev(), there.ino()) == (here.dev(), here.ino()))
    };
    if is_this(&program) == Some(true) {
        // The folder goes only if it is empty.
        fs::remove_file(&program).and_then(|()| fs::remove_dir(&folder)).ok();
    }
}

/// Serves a controller that has greeted, until its end, or until it was silent for `silence`.
pub(crate) fn serve(
    input: impl Read + Send + 'static,
    outbox: &Outbox,
    protocol: u32,
    silence: Duration,
    change: ChangeSettings,
) -> io::Result<()> {
    // A cut connection accepts frames until its buffer is full, and then blocks the writer.
    let sending = outbox.through_queue()?;
    outbox.send(&FromAgent::Greeting(Box::new(greeting())))?;
    let served = match protocol == PROTOCOL {
        true => requests(input, outbox, silence, change),
        // The controller reports the wrong version.
        false => Ok(()),
    };
    outbox.close();
    sending.recv_timeout(LAST_WORDS).ok();
    served
}

/// Time of the last frame from the controller.
#[derive(Clone)]
struct LastFrame(Arc<Mutex<Instant>>);

impl LastFrame {
    fn now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn silent_for(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

fn requests(
    input: impl Read + Send + 'static,
    outbox: &Outbox,
    silence: Duration,
    change: ChangeSettings,
) -> io::Result<()> {
    let last_frame = LastFrame(Arc::new(Mutex::new(Instant::now())));
    let queue = listen(input, outbox.clone(), last_frame.clone())?;
    // Dropped after the agent, which ends its services.
    let served = Arc::new(());
    watch(last_frame.clone(), silence + ENDING, Arc::downgrade(&served))?;
    let mut agent = Agent::new(outbox.clone());
    agent.change = Some(change);
    loop {
        if last_frame.silent_for() >= silence {
            let error = format!("nothing was heard from the controller for {} s", silence.as_secs_f64());
            return Err(io::Error::new(io::ErrorKind::TimedOut, error));
        }
        match queue.recv_timeout(LOOK) {
            Ok(request) => agent.take(request?)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Ends the process if the controller is silent for `silence` while `served` lives.
fn watch(last_frame: LastFrame, silence: Duration, served: Weak<()>) -> io::Result<()> {
    let watch = move || {
        while served.strong_count() > 0 {
            if last_frame.silent_for() >= silence {
                process::exit(1);
            }
            thread::sleep(LOOK);
        }
    };
    thread::Builder::new().name("watchdog".into()).spawn(watch).map(drop)
}

/// Answers pings at once, also while the agent is busy, and passes other requests on.
fn listen(
    mut input: impl Read + Send + 'static,
    outbox: Outbox,
    last_frame: LastFrame,
) -> io::Result<Receiver<io::Result<ToAgent>>> {
    let (sender, queue) = mpsc::channel();
    thread::Builder::new().name("listener".into()).spawn(move || {
        loop {
            let request = frame::read::<ToAgent>(&mut input);
            let received_ns = plimsoll_probe::clock::raw_now_ns();
            last_frame.now();
            let sent = match request {
                Ok(Some(ToAgent::Ping { number })) => {
                    let answered_ns = plimsoll_probe::clock::raw_now_ns();
                    outbox.send_or_drop(&FromAgent::Pong { number, received_ns, answered_ns });
                    continue;
                }
                Ok(Some(request)) => sender.send(Ok(request)),
                Ok(None) => return,
                Err(error) => sender.send(Err(error)),
            };
            if sent.is_err() {
                return;
            }
        }
    })?;
    Ok(queue)
}

/// Description of this machine.
fn greeting() -> Greeting {
    Greeting {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        machine: gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        user: geteuid().as_raw(),
        network: network(),
        addresses: addresses(),
        reached_at: reached_at(),
    }
}

/// Address by which ssh reached the machine, or its address towards the machine that started a step of Slurm's on it (srun(1)).
fn reached_at() -> Option<IpAddr> {
    if let Ok(connection) = env::var("SSH_CONNECTION") {
        return server_of(&connection);
    }
    own_towards(env::var("SLURM_LAUNCH_NODE_IPADDR").ok()?.parse().ok()?)
}

/// The address from which the kernel would send to another one; nothing is sent for that (udp(7)).
fn own_towards(other: IpAddr) -> Option<IpAddr> {
    /// Any would do.
    const DISCARD: u16 = 9;
    let any: IpAddr =
        if other.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((other, DISCARD)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn network() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::metadata("/proc/self/ns/net").map(|of| of.ino()).unwrap_or_default();
    format!("{}/{namespace}", boot.trim())
}

fn addresses() -> Vec<IpAddr> {
    // Without the kernel's answer, the experiment file must name addresses.
    let Ok(interfaces) = getifaddrs() else { return Vec::new() };
    let all = interfaces.filter_map(|interface| {
        let address = interface.address?;
        let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        four.or_else(|| address.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
    });
    all.filter(is_reachable).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Whether others can reach the address: not on loopback, and not link-local.
fn is_reachable(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => !four.is_loopback() && !four.is_link_local(),
        IpAddr::V6(six) => !six.is_loopback() && !six.is_unicast_link_local(),
    }
}

/// The server's address from `SSH_CONNECTION` (ssh(1)): the client's address and port, then the server's.
fn server_of(connection: &str) -> Option<IpAddr> {
    let address = connection.split_whitespace().nth(2)?;
    // An address of one link has its interface behind it.
    address.split('%').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn nothing(_: &BTreeMap<String, String>) -> Result<Box<dyn Any + Send>, String> {
        Ok(Box::new(()))
    }

    /// An agent behind a socket, and how it ended.
    fn agent(silence_ms: u64) -> (UnixStream, thread::JoinHandle<io::Result<()>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let input = theirs.try_clone().unwrap();
        let served = thread::spawn(move || crate::run(input, theirs, nothing));
        let mut to = ours.try_clone().unwrap();
        frame::write(&mut to, &ToAgent::Greet { protocol: PROTOCOL, silence_ms }).unwrap();
        (ours, served)
    }

    fn heard(from: &mut UnixStream) -> FromAgent {
        frame::read(from).unwrap().expect("it answers")
    }

    #[test]
    fn a_greeting_is_answered_and_pings_are_while_something_else_is_done() {
        let (mut ours, served) = agent(60_000);
        let FromAgent::Greeting(greeting) = heard(&mut ours) else { panic!("it describes the machine") };
        assert_eq!((greeting.protocol, greeting.user), (PROTOCOL, geteuid().as_raw()));
        let mut to = ours.try_clone().unwrap();
        // The test keeps its connections open, so the agent must time out.
        frame::write(&mut to, &ToAgent::Ping { number: 7 }).unwrap();
        let FromAgent::Pong { number, received_ns, answered_ns } = heard(&mut ours) else { panic!("a ping") };
        assert_eq!(number, 7);
        assert!(0 < received_ns && received_ns <= answered_ns, "{received_ns} {answered_ns}");
        ours.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(served.join().unwrap().is_ok(), "the end of its input is its end");
    }

    #[test]
    fn an_agent_that_hears_nothing_more_ends_by_itself() {
        let (mut ours, served) = agent(600);
        assert!(matches!(heard(&mut ours), FromAgent::Greeting(_)));
        let started = Instant::now();
        let error = served.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("nothing was heard from the controller for 0.6 s"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    }

    #[test]
    fn a_controller_of_another_version_gets_the_own_version_and_no_service() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let input = theirs.try_clone().unwrap();
        let served = thread::spawn(move || crate::run(input, theirs, nothing));
        let mut both = ours;
        frame::write(&mut both, &ToAgent::Greet { protocol: PROTOCOL + 1, silence_ms: 60_000 }).unwrap();
        let FromAgent::Greeting(greeting) = heard(&mut both) else { panic!("it describes the machine") };
        assert_eq!(greeting.protocol, PROTOCOL);
        assert!(served.join().unwrap().is_ok());
    }

    #[test]
    fn the_address_by_which_ssh_reached_the_machine_is_the_servers() {
        assert_eq!(server_of("192.0.2.1 50000 192.0.2.7 22"), Some("192.0.2.7".parse().unwrap()));
        assert_eq!(server_of("fe80::1%eth0 50000 fe80::2%eth0 22"), Some("fe80::2".parse().unwrap()));
        assert_eq!(server_of("UNKNOWN 65535 UNKNOWN 65535"), None);
        assert_eq!(server_of(""), None);
    }

    #[test]
    fn the_address_towards_another_is_the_kernels_choice() {
        let loopback = "127.0.0.1".parse().unwrap();
        assert_eq!(own_towards("127.0.0.9".parse().unwrap()), Some(loopback));
    }
}
