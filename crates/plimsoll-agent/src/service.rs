//! Services: processes of their own, watched, and stopped with all their children.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use plimsoll_load::{FlushReader, LedgerReader};
use plimsoll_model::experiment::service::SERVICE_MARK;
use plimsoll_model::experiment::{Leak, MailRelayService, WebService};
use plimsoll_model::frame::{Between, Failure, FromAgent, Id, ServiceKind, ServiceSpec};
use plimsoll_path::Folder;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::folder::{give_to_nobody, queue as queue_folder};
use crate::outbox::Outbox;
use crate::sandbox::{Kind, Paths};
use crate::{ById, child, exec, oom_killer, other, program, ready, sandbox};

/// Bytes of a service's standard error that are kept, from its end.
const STDERR_KEPT: usize = 2000;
/// Time for a program of the user's own to end after a signal, before it is killed; and time for killed processes to disappear.
const GRACE: Duration = Duration::from_secs(2);
/// Time for the last words of an ended service to arrive. A process that it left behind may hold its standard error open for ever.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Time between two checks whether a process has ended.
const END_POLL: Duration = Duration::from_millis(10);

/// Report of a built-in service at its start, one line of JSON on its stdout.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Startup {
    Listening(Vec<SocketAddr>),
    Failed(Failure),
}

/// `plimsoll agent service`: becomes the built-in service whose specification comes in as JSON on stdin, and dies with the agent.
pub fn main() -> ExitCode {
    let spec: ServiceSpec = match child::specification("service") {
        Ok(spec) => spec,
        Err(code) => return code,
    };
    child::call_itself(&spec.name);
    let (kind, paths) = passage(&spec);
    if let Err((what, error)) = sandbox::confine(kind, &paths) {
        tracing::error!("{what}: {error}");
        return ExitCode::FAILURE;
    }
    let Err(failure) =
        plimsoll_load::serve(&spec, |addresses| child::reply(&Startup::Listening(addresses.to_vec())));
    tracing::error!("{failure}");
    child::reply(&Startup::Failed(failure)).ok();
    ExitCode::FAILURE
}

/// Row of a built-in service in the table of the sandbox.
pub(crate) fn kind_of(service: &ServiceKind) -> Kind {
    match service {
        ServiceKind::Relay(relay) if relay.leak == Some(Leak::RoutingRule) => Kind::LeakingRelay,
        ServiceKind::Web(web) if web.root.is_some() => Kind::WebFolder,
        ServiceKind::Bulk(_) => Kind::BulkService,
        _ => Kind::Service,
    }
}

/// How a built-in service enters the sandbox.
fn passage(spec: &ServiceSpec) -> (Kind, Paths) {
    let mut paths = Paths { writable: spec.folder.iter().cloned().collect(), ..Paths::default() };
    match &spec.kind {
        ServiceKind::Web(web) => paths.opened.extend(web.root.as_ref().map(PathBuf::from)),
        ServiceKind::MailRelay(relay) => paths.writable.extend(relay.queue.as_ref().map(PathBuf::from)),
        _ => {}
    }
    (kind_of(&spec.kind), paths)
}

/// Gives a built-in service's folder to its user, and makes a queue that the file names. Refuses a folder of files that lies behind a link.
fn make_room(spec: &ServiceSpec) -> Result<(), Failure> {
    if let Some(folder) = &spec.folder {
        give_to_nobody(folder)?;
    }
    if let ServiceKind::Web(WebService { root: Some(root), .. }) = &spec.kind {
        let field = format!("services.{}.web.root", spec.name);
        Folder::open(Path::new(root)).map_err(|error| other(format!("serve the files of {field}"), error))?;
    }
    let ServiceKind::MailRelay(MailRelayService { queue: Some(queue), .. }) = &spec.kind else {
        return Ok(());
    };
    let field = format!("services.{}.mail_relay.queue", spec.name);
    let (folder, was_missing) = queue_folder(&field, Path::new(queue))?;
    let path = folder.handle();
    if was_missing {
        return give_to_nobody(&path);
    }
    let meta = path.metadata().map_err(|error| other(format!("look at {queue}"), error))?;
    if !sandbox::can_become_nobody() || sandbox::is_open(&meta, 0o7) {
        return Ok(());
    }
    let (uid, mode) = (meta.uid(), meta.mode() & 0o7777);
    let why = format!(
        "it belongs to user {uid} with mode {mode:04o}, and the relay runs as user {}: name a folder that is missing, or one that this user may write to",
        sandbox::NOBODY
    );
    Err(other(format!("keep the queue of {field} in {queue}"), why))
}

/// The services of a host.
pub(crate) struct Services {
    outbox: Outbox,
    running: ById<ServiceProcess>,
    /// Folders that survive a restart, by the service's name.
    kept: BTreeMap<String, TempDir>,
    /// The lists of sinks for mail.
    ledgers: ById<LedgerReader>,
    /// Readers of the relays' lists of flushes, by the relay's name: a list survives a restart.
    flushes: BTreeMap<String, FlushReader>,
    /// The relays by id.
    relays: ById<String>,
}

struct ServiceProcess {
    group: Pid,
    builtin: bool,
    stopping: Arc<AtomicBool>,
    watcher: JoinHandle<()>,
    stderr: Tail,
    /// Folder of a program's files; removed on drop.
    _folder: Option<TempDir>,
}

/// A process of a service that was just started.
struct Launched {
    child: Child,
    /// Listening addresses; a built-in service reports them itself.
    listen: Vec<SocketAddr>,
    folder: Option<TempDir>,
}

impl Services {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self {
            outbox,
            running: ById::new(),
            kept: BTreeMap::new(),
            ledgers: ById::new(),
            flushes: BTreeMap::new(),
            relays: ById::new(),
        }
    }

    /// Starts a service. The process is made by the calling thread, which must live as long as the agent: the kernel takes the end of
    /// the thread for the end of the parent (prctl(2), PR_SET_PDEATHSIG).
    pub(crate) fn start(&mut self, id: Id, mut spec: ServiceSpec) -> io::Result<()> {
        if !spec.kind.is_started() {
            ready::meet(self.outbox.clone(), id, spec);
            return Ok(());
        }
        if spec.kind.keeps_files() {
            match self.keep(&spec.name) {
                Ok(folder) => spec.folder = Some(folder),
                Err(why) => return self.outbox.fail(Some(id), why),
            }
        }
        match launch(&spec) {
            Ok(launched) => {
                match (&spec.kind, &spec.folder) {
                    (ServiceKind::SmtpSink(_), Some(folder)) => {
                        self.ledgers.insert(id, LedgerReader::new(folder));
                    }
                    (ServiceKind::MailRelay(_), Some(folder)) => {
                        let of_relay = self.flushes.entry(spec.name.clone());
                        of_relay.or_insert_with(|| FlushReader::new(folder));
                        self.relays.insert(id, spec.name.clone());
                    }
                    _ => {}
                }
                let group = child::group_of(&launched.child);
                match self.watch(id, spec, launched) {
                    Ok(running) => {
                        self.running.insert(id, running);
                        Ok(())
                    }
                    Err(error) => {
                        child::kill(group, Signal::SIGKILL);
                        self.outbox.fail(Some(id), other("watch the service", error))
                    }
                }
            }
            Err(why) => self.outbox.fail(Some(id), why),
        }
    }

    /// Folder of a service that survives a restart.
    fn keep(&mut self, name: &str) -> Result<PathBuf, Failure> {
        if let Some(folder) = self.kept.get(name) {
            return Ok(folder.path().to_owned());
        }
        let folder = program::make_folder()?;
        let path = folder.path().to_owned();
        self.kept.insert(name.to_owned(), folder);
        Ok(path)
    }

    /// Sends the ledger of a mail sink.
    pub(crate) fn ledger(&mut self, id: Id, service: Id) -> io::Result<()> {
        let read = match self.ledgers.get_mut(&service) {
            Some(reader) => reader.read().cloned().map_err(|error| other("read the list of a sink", error)),
            None => Err(other("read the list of a sink", "there is no such sink")),
        };
        match read {
            Ok(ledger) => self.outbox.send(&FromAgent::Ledger { id, ledger: Box::new(ledger) }),
            Err(why) => self.outbox.fail(Some(id), why),
        }
    }

    /// Sends the flushes of a mail relay since the last request.
    pub(crate) fn flushes(&mut self, id: Id, service: Id) -> io::Result<()> {
        const WHAT: &str = "read how long a relay's flushes took";
        let reader = self.relays.get(&service).and_then(|name| self.flushes.get_mut(name));
        let read = match reader {
            Some(reader) => reader.take().map_err(|error| other(WHAT, error)),
            None => Err(other(WHAT, "there is no such relay")),
        };
        match read {
            Ok(flushes) => self.outbox.send(&FromAgent::Flushes { id, flushes }),
            Err(why) => self.outbox.fail(Some(id), why),
        }
    }

    fn watch(&self, id: Id, spec: ServiceSpec, launched: Launched) -> io::Result<ServiceProcess> {
        let Launched { mut child, listen, folder } = launched;
        let stderr = Tail::follow(child.stderr.take())?;
        let stopping = Arc::new(AtomicBool::new(false));
        let group = child::group_of(&child);
        let builtin = spec.kind.is_builtin();
        let watch = Watch {
            id,
            group,
            spec,
            listen,
            outbox: self.outbox.clone(),
            stopping: Arc::clone(&stopping),
            killed: oom_killer::Killed::until_now(),
            stderr: stderr.clone(),
        };
        let watcher = thread::Builder::new().name("watcher".into());
        let watcher = watcher.spawn(move || watch.until_it_ends(child))?;
        Ok(ServiceProcess { group, builtin, stopping, watcher, stderr, _folder: folder })
    }

    /// Sends a signal to all processes of a service.
    pub(crate) fn signal(&self, service: Id, signal: Signal) -> Result<(), Failure> {
        let what = || format!("send {signal} to the service");
        let running = self.running.get(&service).ok_or_else(|| other(what(), "it does not run"))?;
        killpg(running.group, signal).map_err(|error| other(what(), error))
    }

    /// Process group of each service.
    pub(crate) fn groups(&self) -> ById<Pid> {
        self.running.iter().map(|(id, service)| (*id, service.group)).collect()
    }

    /// The end of a service's standard error at this moment.
    pub(crate) fn words(&self, service: Id) -> String {
        self.running.get(&service).map_or_else(String::new, |running| running.stderr.text())
    }

    /// Ends a service: at once with `kill`, else after a signal.
    pub(crate) fn stop(&mut self, id: Id, kill: bool) -> io::Result<()> {
        if let Some(running) = self.running.remove(&id) {
            running.stop(kill);
        }
        self.outbox.send(&FromAgent::Stopped { id })
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        for (_, running) in std::mem::take(&mut self.running) {
            running.stopping.store(true, Ordering::Release);
            child::kill(running.group, Signal::SIGKILL);
        }
    }
}

impl ServiceProcess {
    fn stop(self, kill: bool) {
        self.stopping.store(true, Ordering::Release);
        if !self.builtin && !kill {
            child::kill(self.group, Signal::SIGTERM);
            let asked = Instant::now();
            while !self.watcher.is_finished() && asked.elapsed() < GRACE {
                thread::sleep(END_POLL);
            }
        }
        // Other processes of the group may outlive the first.
        child::kill(self.group, Signal::SIGKILL);
        // A panicked watcher sends nothing more.
        self.watcher.join().ok();
        // The kernel ends the others in its own time, and until then they hold the service's ports, which it may be started on again.
        let killed = Instant::now();
        while killpg(self.group, None).is_ok() && killed.elapsed() < GRACE {
            thread::sleep(END_POLL);
        }
    }
}

fn launch(spec: &ServiceSpec) -> Result<Launched, Failure> {
    let (mut command, listen, folder) = if spec.kind.is_builtin() {
        make_room(spec)?;
        (child::answering("service"), Vec::new(), None)
    } else {
        foreign(spec)?
    };
    command.stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| other("start the service", error))?;
    child::hand_over(&mut child, spec).map_err(|error| other("start the service", error))?;
    Ok(Launched { child, listen, folder })
}

/// Command of a foreign program, its listening addresses, and its own folder, if it needs one.
fn foreign(spec: &ServiceSpec) -> Result<(Command, Vec<SocketAddr>, Option<TempDir>), Failure> {
    let listen = spec.listen.iter().map(|&address| free_port(address)).collect::<Result<Vec<_>, _>>()?;
    let first =
        *listen.first().ok_or_else(|| other("start the service", "it has no address to listen on"))?;
    let (entry, folder) = match &spec.kind {
        ServiceKind::Exec(service) => {
            let scratch = spec.folder.as_deref();
            let scratch =
                scratch.ok_or_else(|| other("start the service", "it has no folder to write to"))?;
            if !spec.privileged {
                give_to_nobody(scratch)?;
            }
            (
                exec::entry(&service.argv, spec, first, scratch)?.environment([(SERVICE_MARK, &spec.name)]),
                None,
            )
        }
        _ => {
            let prepared = program::prepare(spec, first)?;
            (prepared.entry, Some(prepared.folder))
        }
    };
    let mut command = entry.command()?;
    // What it prints belongs to its messages, not to the agent's frames.
    command.stdout(Stdio::null());
    if matches!(spec.kind, ServiceKind::Exec(_)) {
        command.env(SERVICE_MARK, &spec.name);
    }
    Ok((command, listen, folder))
}

/// The address with a port; the kernel chooses one for port 0. For programs that cannot report a port of the kernel's choice.
fn free_port(address: SocketAddr) -> Result<SocketAddr, Failure> {
    TcpListener::bind(address).and_then(|listener| listener.local_addr()).map_err(|error| {
        match error.kind() {
            io::ErrorKind::AddrInUse => Failure::AddressInUse { address },
            io::ErrorKind::PermissionDenied => Failure::Permission {
                what: format!("listen on {address}"),
                needs: Some(
                    "CAP_NET_BIND_SERVICE for a port below net.ipv4.ip_unprivileged_port_start".into(),
                ),
            },
            _ => other(format!("listen on {address}"), error),
        }
    })
}

/// Divisor of the time to get ready: until then a service may listen on other ports alone.
const PATIENCE: u32 = 4;
/// Time between two looks at the ports of a service that is not ready.
const LOOK: Duration = Duration::from_millis(500);

/// State of the thread that watches one service.
struct Watch {
    id: Id,
    group: Pid,
    spec: ServiceSpec,
    listen: Vec<SocketAddr>,
    outbox: Outbox,
    stopping: Arc<AtomicBool>,
    /// Count of the kernel's out-of-memory kills before the start.
    killed: oom_killer::Killed,
    stderr: Tail,
}

impl Watch {
    fn until_it_ends(mut self, child: Child) {
        let (startup, end) = match listen_to(child) {
            Ok(listened) => listened,
            Err(error) => {
                child::kill(self.group, Signal::SIGKILL);
                let why = other("watch the service", error);
                return self.outbox.send_or_drop(&FromAgent::Failed { id: Some(self.id), why });
            }
        };
        match self.become_ready(startup.as_ref(), &end) {
            Ok(()) => {
                self.outbox.send_or_drop(&FromAgent::Ready { id: self.id, listen: self.listen.clone() });
            }
            Err(why) => {
                child::kill(self.group, Signal::SIGKILL);
                if !self.stopping.load(Ordering::Acquire) {
                    self.outbox.send_or_drop(&FromAgent::Failed { id: Some(self.id), why });
                }
                // Wait for the killed process, unless its status has come already.
                end.recv().ok();
                return;
            }
        }
        let how =
            end.recv().map_or_else(|_| "in a way that is not known".into(), |status| self.describe(status));
        if !self.stopping.load(Ordering::Acquire) {
            self.outbox.send_or_drop(&FromAgent::Died { id: self.id, how, stderr: self.stderr.last_words() });
        }
    }

    fn become_ready(
        &mut self,
        startup: Option<&mpsc::Receiver<Startup>>,
        end: &mpsc::Receiver<io::Result<ExitStatus>>,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        let within = self.spec.ready.within.0;
        let stderr = &self.stderr;
        let not_ready = |last: String| Failure::NotReady {
            waited_ms: ready::millis(start.elapsed()),
            last,
            stderr: stderr.text(),
        };
        if let Some(startup) = startup {
            self.listen = match startup.recv_timeout(within) {
                Ok(Startup::Listening(addresses)) => addresses,
                Ok(Startup::Failed(why)) => return Err(why),
                Err(RecvTimeoutError::Timeout) => return Err(not_ready("it does not listen yet".into())),
                Err(RecvTimeoutError::Disconnected) => return Err(self.exited(end, stderr)),
            };
        }
        let doors = ready::doors(&self.listen, &self.spec.approaches);
        // A program that opens its ports one by one has until then to open the right one.
        let mut look = start + within / PATIENCE;
        loop {
            let Err((door, last)) = ready::try_all(&doors, &self.spec.ready) else { return Ok(()) };
            if let Ok(status) = end.try_recv() {
                let confined = matches!(self.spec.kind, ServiceKind::Exec(_)) && !self.spec.privileged;
                let how = self.describe(status);
                return Err(Failure::Exited { how, stderr: stderr.last_words(), confined });
            }
            if Instant::now() >= look {
                look = Instant::now() + LOOK;
                let listens = ready::listens(self.group);
                let port = door.at.port();
                if !listens.is_empty() && !listens.iter().any(|address| address.port() == port) {
                    let waited_ms = ready::millis(start.elapsed());
                    let (listens, stderr) = (listens.into(), stderr.text().into());
                    return Err(Failure::WrongPort { waited_ms, port, listens, stderr });
                }
            }
            if start.elapsed() >= within {
                return Err(match (door.from, ready::listens_elsewhere(door.at)) {
                    (Some(from), Some(listens)) => Failure::OutOfReach {
                        waited_ms: ready::millis(start.elapsed()),
                        listens,
                        between: Box::new(Between { from, at: door.at }),
                        stderr: stderr.text(),
                    },
                    _ => not_ready(last),
                });
            }
            thread::sleep(ready::POLL);
        }
    }

    fn exited(&self, end: &mpsc::Receiver<io::Result<ExitStatus>>, stderr: &Tail) -> Failure {
        let how = end.recv_timeout(ready::ATTEMPT);
        let how = how.map_or_else(|_| "it closed its standard output".into(), |status| self.describe(status));
        Failure::Exited { how, stderr: stderr.last_words(), confined: false }
    }

    /// How the service ended, and whether memory had run out.
    fn describe(&self, status: io::Result<ExitStatus>) -> String {
        // A shell ends with that status where what it started was killed.
        let killed = Signal::SIGKILL as i32;
        let by_kill = status
            .as_ref()
            .is_ok_and(|status| status.signal() == Some(killed) || status.code() == Some(128 + killed));
        let how = describe(status);
        match self.killed.since().filter(|_| by_kill) {
            Some(why) => format!("{how}: {why}"),
            None => how,
        }
    }
}

/// Channels from a service besides its messages: replies of a built-in service, and its exit status.
type Listened = (Option<mpsc::Receiver<Startup>>, mpsc::Receiver<io::Result<ExitStatus>>);

fn listen_to(mut child: Child) -> io::Result<Listened> {
    let startup = child.stdout.take().map(child::replies).transpose()?;
    let (ended, end) = mpsc::channel();
    thread::Builder::new().name("waiter".into()).spawn(move || ended.send(child.wait()))?;
    Ok((startup, end))
}

fn describe(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => match (status.code(), status.signal().and_then(|n| Signal::try_from(n).ok())) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("killed by {signal}"),
            (None, None) => status.to_string(),
        },
        Err(error) => format!("nobody knows how: {error}"),
    }
}

/// The end of a stream, as it grows.
#[derive(Clone, Default)]
struct Tail(Arc<(Mutex<Buffer>, Condvar)>);

/// Bytes read from a stream, and whether the stream has ended.
#[derive(Default)]
struct Buffer {
    kept: Vec<u8>,
    over: bool,
}

impl Tail {
    fn follow(stream: Option<impl Read + Send + 'static>) -> io::Result<Self> {
        let tail = Self::default();
        let Some(mut stream) = stream else {
            tail.end();
            return Ok(tail);
        };
        let heard = tail.clone();
        thread::Builder::new().name("messages".into()).spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                heard.push(&buffer[..n]);
            }
            heard.end();
        })?;
        Ok(tail)
    }

    fn heard(&self) -> MutexGuard<'_, Buffer> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, bytes: &[u8]) {
        let kept = &mut self.heard().kept;
        kept.extend_from_slice(bytes);
        let excess = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..excess);
    }

    fn end(&self) {
        self.heard().over = true;
        self.0.1.notify_all();
    }

    /// The text so far.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.heard().kept).into_owned()
    }

    /// The text of an ended service, after the stream's end or a timeout.
    fn last_words(&self) -> String {
        let waited = self.0.1.wait_timeout_while(self.heard(), LAST_WORDS, |heard| !heard.over);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        self.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream whose only words come late.
    struct Late(Option<&'static [u8]>);

    impl Read for Late {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(words) = self.0.take() else { return Ok(0) };
            thread::sleep(Duration::from_millis(50));
            buffer[..words.len()].copy_from_slice(words);
            Ok(words.len())
        }
    }

    #[test]
    fn the_last_words_of_a_service_are_waited_for() {
        let tail = Tail::follow(Some(Late(Some(b"my configuration is missing")))).unwrap();
        assert_eq!(tail.last_words(), "my configuration is missing");
    }

    #[test]
    fn a_stream_that_does_not_end_is_not_waited_for_forever() {
        let (reader, _held_open) = io::pipe().expect("a pipe");
        assert_eq!(Tail::follow(Some(reader)).unwrap().last_words(), "");
    }

    #[test]
    fn only_the_end_of_a_stream_is_kept() {
        let text = "x".repeat(STDERR_KEPT) + "the end";
        let tail = Tail::follow(Some(io::Cursor::new(text.clone()))).unwrap();
        assert_eq!(tail.last_words(), text[7..]);
    }
}
