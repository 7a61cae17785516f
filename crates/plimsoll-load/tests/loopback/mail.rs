//! The source of mail, the sink and the relay, with one another and with the programs that others use.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_load::LedgerReader;
use plimsoll_model::experiment::load::smtp::{MessageSize, SizeShape};
use plimsoll_model::experiment::{Durability, Outage};
use plimsoll_model::experiment::{MailRelayService, SmtpLoad, SmtpSinkService};
use plimsoll_model::frame::{LoadKind, ServiceKind, ServiceSpec};
use plimsoll_model::ids::IdSet;
use plimsoll_model::observation::{ErrorKind, LoadResult, MailFacts, MailLedger};
use plimsoll_model::units::{ByteSize, Share, Span};
use tempfile::{NamedTempFile, TempDir};

use crate::load::run_kind;
use crate::service::{Service, command, example, spec};

const ANYWHERE: [SocketAddr; 1] = [SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0)];

/// A sink, and the folder of its list.
struct Sink {
    service: Service,
    folder: TempDir,
}

impl Sink {
    fn start(options: SmtpSinkService) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let spec =
            spec(ServiceKind::SmtpSink(options), ANYWHERE.to_vec(), Vec::new(), Some(folder.path().into()));
        Self { service: Service::start_spec(&spec, command), folder }
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.service.addresses.clone()
    }

    fn ledger(&self) -> MailLedger {
        LedgerReader::new(self.folder.path()).read().unwrap().clone()
    }

    /// Waits until all of these have arrived.
    #[track_caller]
    fn wait_for(&self, ids: &IdSet) -> MailLedger {
        let mut reader = LedgerReader::new(self.folder.path());
        let end = Instant::now() + Duration::from_secs(60);
        while ids.common(&reader.read().unwrap().arrived) < ids.len() {
            assert!(
                Instant::now() < end,
                "{} of {} have arrived",
                reader.read().unwrap().arrived.len(),
                ids.len()
            );
            thread::sleep(Duration::from_millis(10));
        }
        reader.read().unwrap().clone()
    }
}

fn relay_spec(options: MailRelayService, to: &[SocketAddr], folder: &Path) -> ServiceSpec {
    spec(ServiceKind::MailRelay(options), ANYWHERE.to_vec(), to.to_vec(), Some(folder.into()))
}

fn impatient(durability: Durability) -> MailRelayService {
    let options = serde_json::json!({ "to": "sink", "retry": "20ms", "retry_most": "200ms" });
    MailRelayService { durability, ..serde_json::from_value(options).unwrap() }
}

fn small() -> MessageSize {
    MessageSize { least: ByteSize(200), most: ByteSize(20_000), shape: SizeShape::LogUniform, mean: None }
}

fn messages(number: u64, sessions: u32) -> SmtpLoad {
    SmtpLoad {
        messages: Some(number),
        sessions,
        messages_per_session: 10,
        size: small(),
        ..SmtpLoad::default()
    }
}

fn send(to: &[SocketAddr], load: SmtpLoad) -> LoadResult {
    run_kind(to, LoadKind::Smtp(load))
}

fn acknowledged(result: &LoadResult) -> &IdSet {
    &result.found::<MailFacts>().expect("a load of mail reports its mail").acknowledged
}

#[test]
fn every_message_is_counted_once_on_both_sides() {
    for pipelining in [true, false] {
        let sink = Sink::start(SmtpSinkService { pipelining, ..SmtpSinkService::default() });
        let load = SmtpLoad { generators: 2, recipients_per_message: 3, ..messages(200, 7) };
        let people = ["a@x.example", "b@x.example", "c@x.example", "d@x.example"].map(str::to_owned);
        let found = send(&sink.addresses(), SmtpLoad { recipients: people.to_vec(), ..load });
        assert_eq!((found.requests, found.failed()), (400, 0), "{:?}", found.errors);
        assert!((40..=54).contains(&found.connections), "{}", found.connections);
        let ledger = sink.ledger();
        assert_eq!(ledger.arrived, *acknowledged(&found));
        assert_eq!((ledger.arrived.len(), ledger.doubled, ledger.corrupted, ledger.unknown), (400, 0, 0, 0));
        let mail = found.found::<MailFacts>().unwrap();
        let commands: Vec<&str> = mail.commands.keys().map(String::as_str).collect();
        assert_eq!(commands, ["DATA", "EHLO", "MAIL", "RCPT", "end of data", "greeting"]);
        assert!(
            found.bytes > 400 * 200 && found.intervals.iter().map(|i| i.bytes).sum::<u64>() == found.bytes
        );
    }
}

#[test]
fn a_rate_per_minute_is_an_open_loop() {
    let sink = Sink::start(SmtpSinkService::default());
    let load = SmtpLoad {
        messages: None,
        duration: Some(Span::secs(1)),
        per_minute: Some(6000.0),
        messages_per_session: 0,
        ..messages(1, 50)
    };
    let found = send(&sink.addresses(), load);
    assert_eq!((found.requests, found.failed()), (100, 0), "{:?}", found.errors);
    assert_eq!(found.offer.unwrap().due, 100);
}

#[test]
fn a_cap_holds_back_sessions_that_could_go_faster() {
    let sink = Sink::start(SmtpSinkService::default());
    let load = SmtpLoad {
        messages: None,
        duration: Some(Span::secs(2)),
        most_per_minute: Some(1200.0),
        messages_per_session: 0,
        generators: 2,
        ..messages(1, 5)
    };
    let found = send(&sink.addresses(), load);
    assert!((30..=42).contains(&found.requests), "{}", found.requests);
    assert_eq!((found.failed(), found.offer), (0, None), "{:?}", found.errors);
    assert_eq!(sink.ledger().arrived.len(), found.requests);
}

#[test]
fn large_messages_arrive_whole() {
    let sink = Sink::start(SmtpSinkService::default());
    let size = MessageSize { least: ByteSize(3 << 20), most: ByteSize(9 << 20), ..MessageSize::default() };
    let found = send(&sink.addresses(), SmtpLoad { size, ..messages(6, 3) });
    assert_eq!((found.requests, found.failed()), (6, 0), "{:?}", found.errors);
    assert_eq!(sink.ledger().corrupted, 0);
    let short = Sink::start(SmtpSinkService { max_message: ByteSize(100), ..SmtpSinkService::default() });
    let refused = send(&short.addresses(), messages(5, 1));
    assert_eq!((refused.requests, refused.errors[&ErrorKind::Rejected]), (0, 5));
}

#[test]
fn a_sink_refuses_as_many_as_it_should() {
    let options = SmtpSinkService { defer: Share(0.3), reject: Share(0.2), ..SmtpSinkService::default() };
    let sink = Sink::start(options);
    let found = send(&sink.addresses(), messages(1000, 4));
    let (deferred, rejected) = (found.errors[&ErrorKind::Deferred], found.errors[&ErrorKind::Rejected]);
    assert!((240..360).contains(&deferred) && (140..260).contains(&rejected), "{:?}", found.errors);
    assert_eq!(found.requests, 1000 - deferred - rejected);
    assert_eq!(sink.ledger().arrived, *acknowledged(&found));
}

#[test]
fn a_slow_sink_is_slow() {
    let sink = Sink::start(SmtpSinkService { delay: Span::millis(30), ..SmtpSinkService::default() });
    let found = send(&sink.addresses(), messages(20, 4));
    assert_eq!((found.requests, found.failed()), (20, 0));
    let mail = found.found::<MailFacts>().unwrap();
    assert!(mail.commands["end of data"].percentiles.p50 >= 29_000, "{:?}", mail.commands["end of data"]);
}

#[test]
fn a_relay_forwards_what_it_has_acknowledged() {
    for durability in [Durability::Fsync, Durability::GroupCommit] {
        let sink = Sink::start(SmtpSinkService::default());
        let folder = tempfile::tempdir().unwrap();
        let relay = Service::start_spec(
            &relay_spec(impatient(durability), &sink.addresses(), folder.path()),
            command,
        );
        let found = send(&relay.addresses, messages(500, 20));
        assert_eq!((found.requests, found.failed()), (500, 0), "{:?}", found.errors);
        let ledger = sink.wait_for(acknowledged(&found));
        assert_eq!((ledger.arrived.len(), ledger.doubled, ledger.corrupted), (500, 0, 0));
        let end = Instant::now() + Duration::from_secs(10);
        while folder.path().join("queue").read_dir().unwrap().count() > 0 {
            assert!(Instant::now() < end, "there are files in the queue");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_relay_tries_again_until_the_sink_takes_it() {
    let options = SmtpSinkService {
        defer: Share(0.5),
        greylist: Some(Span::millis(200)),
        outage: Some(Outage { after: Span::millis(300), length: Span::millis(400) }),
        ..SmtpSinkService::default()
    };
    let sink = Sink::start(options);
    let folder = tempfile::tempdir().unwrap();
    let options = impatient(Durability::GroupCommit);
    let relay = Service::start_spec(&relay_spec(options, &sink.addresses(), folder.path()), command);
    let load = SmtpLoad {
        messages: None,
        duration: Some(Span::secs(1)),
        per_minute: Some(12_000.0),
        ..messages(1, 20)
    };
    let found = send(&relay.addresses, load);
    assert_eq!((found.requests, found.failed()), (200, 0), "{:?}", found.errors);
    let ledger = sink.wait_for(acknowledged(&found));
    assert_eq!((ledger.arrived.len(), ledger.corrupted), (200, 0));
}

#[test]
fn what_the_sink_refuses_for_good_is_held() {
    let sink = Sink::start(SmtpSinkService { reject: Share(1.0), ..SmtpSinkService::default() });
    let folder = tempfile::tempdir().unwrap();
    let options = impatient(Durability::Fsync);
    let relay = Service::start_spec(&relay_spec(options, &sink.addresses(), folder.path()), command);
    assert_eq!(send(&relay.addresses, messages(5, 1)).requests, 5);
    let held = || {
        let files = folder.path().join("queue").read_dir().unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "held")).count()
    };
    let end = Instant::now() + Duration::from_secs(10);
    while held() < 5 {
        assert!(Instant::now() < end, "{} files are held", held());
        thread::sleep(Duration::from_millis(10));
    }
}

/// Kills the relay while messages come in and go out, each time at another moment; all acknowledged ones arrive in the end.
#[test]
fn no_message_is_lost_when_the_relay_is_killed_a_hundred_times() {
    let sink = Sink::start(SmtpSinkService { defer: Share(0.1), ..SmtpSinkService::default() });
    let folder = tempfile::tempdir().unwrap();
    let mut all = IdSet::default();
    let mut lost_connections = 0;
    for round in 0_u64..100 {
        let durability = if round % 2 == 0 { Durability::Fsync } else { Durability::GroupCommit };
        let spec = relay_spec(impatient(durability), &sink.addresses(), folder.path());
        let mut relay = Service::start_spec(&spec, command);
        let to = relay.addresses.clone();
        let load = SmtpLoad { timeout: Span::secs(5), ..messages(60, 6) };
        let source = thread::spawn(move || send(&to, load));
        // Up to about as long as the load takes; the multiplier spreads the moments evenly.
        thread::sleep(Duration::from_micros(round * 61 % 100 * 400));
        relay.kill();
        let found = source.join().unwrap();
        lost_connections += found.failed();
        all.extend(acknowledged(&found));
    }
    assert!(lost_connections > 0, "no kill has met the load");
    assert!(all.len() > 300, "only {} messages were acknowledged", all.len());
    let spec = relay_spec(impatient(Durability::Fsync), &sink.addresses(), folder.path());
    let _relay = Service::start_spec(&spec, command);
    let ledger = sink.wait_for(&all);
    assert_eq!((ledger.corrupted, ledger.unknown), (0, 0));
    println!("{} acknowledged, {} doubled", all.len(), ledger.doubled);
}

/// A file system of its own, on a file, from which power can be cut.
struct Disk {
    /// Where it is mounted.
    folder: TempDir,
    image: NamedTempFile,
}

impl Disk {
    fn new() -> Self {
        let image = NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        image.as_file().set_len(256 << 20).unwrap();
        succeeds("mkfs.ext4", &["-q".as_ref(), image.path()]);
        let disk = Self { folder: tempfile::tempdir().unwrap(), image };
        disk.mount();
        disk
    }

    fn mount(&self) {
        succeeds("mount", &["-o".as_ref(), "loop".as_ref(), self.image.path(), self.folder.path()]);
    }

    /// Drops all unflushed data, and mounts the disk again.
    fn lose_power(&self, relay: &mut Service) {
        // Without power a program does not run either.
        kill(Pid::from_raw(relay.pid() as i32), Signal::SIGSTOP).unwrap();
        succeeds("python3", &["-c".as_ref(), SHUT_DOWN.as_ref(), self.folder.path()]);
        relay.kill();
        succeeds("umount", &[self.folder.path()]);
        self.mount();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        succeeds("umount", &[self.folder.path()]);
    }
}

/// EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH (fs/ext4/ext4.h).
const SHUT_DOWN: &str = "import fcntl, os, struct, sys; fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

#[track_caller]
fn succeeds(program: &str, args: &[&Path]) {
    let status = Command::new(program).args(args).status().unwrap();
    assert!(status.success(), "{program} {args:?}: {status}");
}

/// The relay's own promise: 256 that were delivered, and what was on its way in 20 sessions.
const DOUBLED: u64 = 256 + 20;

/// Cuts the power while messages come in and go out, and while a grown queue is emptied.
#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_power_cut_loses_nothing_and_doubles_a_batch_at_most() {
    let outage = Outage { after: Span::millis(0), length: Span::secs(4) };
    for durability in [Durability::Fsync, Durability::GroupCommit] {
        for (outage, cut_at) in [(None, 1500), (Some(outage), 400), (Some(outage), 2900)] {
            let disk = Disk::new();
            let sink = Sink::start(SmtpSinkService { outage, ..SmtpSinkService::default() });
            let folder = disk.folder.path().join("relay");
            std::fs::create_dir(&folder).unwrap();
            let spec = relay_spec(impatient(durability), &sink.addresses(), &folder);
            let mut relay = Service::start_spec(&spec, command);
            let to = relay.addresses.clone();
            let load = SmtpLoad { timeout: Span::secs(5), ..messages(3000, 100) };
            let source = thread::spawn(move || send(&to, load));
            let mut reader = LedgerReader::new(sink.folder.path());
            while reader.read().unwrap().arrived.len() < cut_at {
                thread::sleep(Duration::from_millis(1));
            }
            disk.lose_power(&mut relay);
            let found = source.join().unwrap();
            let before = sink.ledger();
            let _relay = Service::start_spec(&spec, command);
            let ledger = sink.wait_for(acknowledged(&found));
            // What is delivered once more may come after the last that was missing.
            let end = Instant::now() + Duration::from_secs(20);
            while folder.join("queue").read_dir().unwrap().count() > 0 {
                assert!(Instant::now() < end, "there are files in the queue");
                thread::sleep(Duration::from_millis(10));
            }
            // An outage has its own, of sessions that it broke.
            let doubled = sink.ledger().doubled - before.doubled;
            println!(
                "{durability:?}: {} acknowledged, {} had arrived, {doubled} doubled",
                acknowledged(&found).len(),
                before.arrived.len()
            );
            assert_eq!((ledger.corrupted, ledger.unknown), (0, 0));
            assert!(doubled <= DOUBLED, "{durability:?}: {doubled}");
        }
    }
}

/// On a file system of its own, which takes a user namespace where the test is not run by root.
#[test]
fn a_full_disk_is_answered_with_452_and_loses_nothing() {
    let sink = Sink::start(SmtpSinkService {
        outage: Some(Outage { after: Span::millis(0), length: Span::secs(1) }),
        ..SmtpSinkService::default()
    });
    let folder = tempfile::tempdir().unwrap();
    // The outage of the sink begins with the first message that it is offered.
    send(&sink.addresses(), messages(1, 1));
    let mount = format!("mount -t tmpfs -o size=400k none {} && exec \"$@\"", folder.path().display());
    let on_small_disk = |spec: &ServiceSpec| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount, "mounted"]);
        let serve = example("serve");
        command.arg(serve.get_program()).arg(serde_json::to_string(spec).unwrap());
        command
    };
    let spec = relay_spec(impatient(Durability::GroupCommit), &sink.addresses(), folder.path());
    let relay = Service::start_spec(&spec, on_small_disk);
    let found = send(&relay.addresses, SmtpLoad { seed: Some(1), ..messages(400, 10) });
    let deferred = found.errors.get(&ErrorKind::Deferred).copied().unwrap_or(0);
    assert!(deferred > 50 && found.requests > 20, "{} sent, {:?}", found.requests, found.errors);
    assert_eq!(found.failed(), deferred);
    let ledger = sink.wait_for(acknowledged(&found));
    assert_eq!(ledger.corrupted, 0);
    assert!(send(&relay.addresses, messages(20, 2)).requests == 20, "there is room again");
}

#[test]
#[ignore = "needs postal; cargo xtask test installs and runs it"]
fn postal_drives_relay_and_sink() {
    let sink = Sink::start(SmtpSinkService::default());
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    std::fs::write(&users, "someone@x.example\n").unwrap();
    let options = impatient(Durability::GroupCommit);
    let relay = Service::start_spec(&relay_spec(options, &sink.addresses(), folder.path()), command);
    let port = relay.addresses[0].port().to_string();
    // It goes on until it is ended; where tests run in the background it ignores an interrupt.
    let mut postal = Command::new("timeout");
    postal.args(["-s", "KILL", "3", "postal", "-m", "10", "-t", "2", "-r", "600", "-p", &port]);
    // It writes a log where it is started.
    postal.current_dir(folder.path()).arg("-f").arg(&users).arg("127.0.0.1").arg(&users);
    let output = postal.output();
    let printed = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
    let end = Instant::now() + Duration::from_secs(10);
    while sink.ledger().unknown < 3 {
        assert!(Instant::now() < end, "{} have arrived; it printed {printed}", sink.ledger().unknown);
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "needs postfix; cargo xtask test installs and runs it"]
fn smtp_source_drives_relay_and_sink_and_smtp_sink_takes_our_mail() {
    let sink = Sink::start(SmtpSinkService::default());
    let folder = tempfile::tempdir().unwrap();
    let options = impatient(Durability::GroupCommit);
    let relay = Service::start_spec(&relay_spec(options, &sink.addresses(), folder.path()), command);
    for to in [relay.addresses[0], sink.addresses()[0]] {
        let status = Command::new("smtp-source")
            .args(["-s", "4", "-m", "200", "-l", "5000", "-f", "a@x.example", "-t", "b@x.example"])
            .arg(format!("inet:{to}"))
            .status();
        assert!(status.unwrap().success());
    }
    let end = Instant::now() + Duration::from_secs(10);
    while sink.ledger().unknown < 400 {
        assert!(Instant::now() < end, "{} have arrived", sink.ledger().unknown);
        thread::sleep(Duration::from_millis(20));
    }
    let port = std::net::TcpListener::bind(ANYWHERE[0]).unwrap().local_addr().unwrap();
    let mut theirs =
        Command::new("smtp-sink").args(["-u", "nobody", &format!("inet:{port}"), "100"]).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while std::net::TcpStream::connect(port).is_err() {
        assert!(Instant::now() < end, "smtp-sink does not listen");
        thread::sleep(Duration::from_millis(20));
    }
    let found = send(&[port], SmtpLoad { messages_per_session: 7, ..messages(300, 5) });
    theirs.kill().unwrap();
    theirs.wait().unwrap();
    assert_eq!((found.requests, found.failed()), (300, 0), "{:?}", found.errors);
}
