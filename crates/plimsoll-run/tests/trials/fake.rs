//! Hosts without a kernel: their agents are threads with scripted replies.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;

use plimsoll_model::experiment::{Experiment, LinkDirection};
use plimsoll_model::frame::{self, Failure, FromAgent, LoadKind, PROTOCOL, ToAgent, VolumePlace};
use plimsoll_model::observation::{
    Arm, CapturedFile, FlushFacts, Frame, FrameKind, LoadResult, ProfileBuilder, ProfileClock, SamplingCost,
    Snapshot,
};
use plimsoll_run::{Changed, HostProvider, Hosts, LinkTrouble, Pipes, ProviderError, ShapedLink};

/// Requests to the agents of all rigs, in order: `rig 0: run flood 5`.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// Makes rigs of fake hosts, and logs their requests.
#[derive(Clone, Default)]
pub(crate) struct FakeProvider {
    pub(crate) log: Log,
    rigs: Arc<Mutex<usize>>,
    /// The service dies when a load of this name is to run.
    pub(crate) dies_at: Option<&'static str>,
    /// The load of this name goes on until it is stopped.
    pub(crate) lasting: Option<&'static str>,
    /// Guests cannot sample themselves.
    pub(crate) unsampled: bool,
}

impl FakeProvider {
    pub(crate) fn said(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl HostProvider for FakeProvider {
    fn build(&self, _: &Experiment) -> Result<Box<dyn Hosts>, ProviderError> {
        let mut rigs = self.rigs.lock().unwrap();
        *rigs += 1;
        Ok(Box::new(FakeHosts { rig: *rigs - 1, provider: self.clone() }))
    }

    fn drop_caches(&self) -> Result<(), ProviderError> {
        self.log.lock().unwrap().push("drop caches".into());
        Ok(())
    }

    fn change_machine(&self, settings: &BTreeMap<String, String>) -> Result<Box<dyn Changed>, ProviderError> {
        self.log.lock().unwrap().push(format!("change {settings:?}"));
        Ok(Box::new(PutBack(Arc::clone(&self.log))))
    }

    fn usable_cpus(&self) -> Result<Vec<u32>, ProviderError> {
        Ok(vec![0, 1])
    }
}

/// Settings that are logged when they are put back.
struct PutBack(Log);

impl Changed for PutBack {}

impl Drop for PutBack {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("put back".into());
    }
}

struct FakeHosts {
    rig: usize,
    provider: FakeProvider,
}

impl Hosts for FakeHosts {
    fn change_link(&mut self, place: usize, ways: &[LinkDirection; 2]) -> Result<(), ProviderError> {
        let loss = ways[0].loss.map(|share| share.0);
        self.provider.log.lock().unwrap().push(format!("rig {}: link {place}: loss {loss:?}", self.rig));
        Ok(())
    }

    fn pipes(&mut self, _: &str) -> Result<Pipes, ProviderError> {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let (rig, provider) = (self.rig, self.provider.clone());
        thread::spawn(move || answer_all(rig, &provider, theirs));
        Ok(Pipes {
            to: Box::new(ours.try_clone().expect("a second handle")),
            from: Box::new(ours),
            clock: None,
        })
    }

    fn address(&self, _: &str, _: &str) -> Result<IpAddr, ProviderError> {
        Ok(Ipv4Addr::new(10, 0, 0, 1).into())
    }

    fn notes(&self, host: &str) -> Vec<String> {
        vec![format!("{host} is a thread")]
    }

    fn own_addresses(&self, _: &str) -> Result<Vec<IpAddr>, ProviderError> {
        Ok(Vec::new())
    }

    fn volume(&self, name: &str) -> Result<VolumePlace, ProviderError> {
        Err(ProviderError::NoSuchVolume(name.into()))
    }

    fn link_troubles(&mut self) -> Result<Vec<LinkTrouble>, ProviderError> {
        Ok(Vec::new())
    }

    fn shaped_links(&mut self) -> Result<Vec<ShapedLink>, ProviderError> {
        let pace = Some(format!("carries {} packets/s", self.rig));
        Ok(vec![ShapedLink { what: "the link a - b was shaped by a thread".into(), pace }])
    }

    fn network_namespace(&self, _: &str) -> Option<u64> {
        u64::try_from(self.rig).ok()
    }

    fn last_lines(&mut self, _: &str) -> String {
        String::new()
    }

    fn rebuild(&mut self, host: &str) -> Result<(), ProviderError> {
        self.provider.log.lock().unwrap().push(format!("rig {}: rebuild {host}", self.rig));
        Ok(())
    }
}

fn answer_all(rig: usize, provider: &FakeProvider, mut stream: UnixStream) {
    let mut input = stream.try_clone().expect("a second handle");
    let mut service = 0;
    let mut captured = None;
    while let Ok(Some(request)) = frame::read::<ToAgent>(&mut input) {
        let say = |what: String| provider.log.lock().unwrap().push(format!("rig {rig}: {what}"));
        let answer = match request {
            ToAgent::Greet { .. } | ToAgent::Ping { .. } => panic!("no fake host is remote"),
            ToAgent::Hello { .. } => {
                FromAgent::Welcome { protocol: PROTOCOL, pid: 1, at_ns: 0, absent: Vec::new() }
            }
            ToAgent::Start { id, service: spec } => {
                say(format!("start {}", spec.name));
                service = id;
                FromAgent::Ready { id, listen: vec![SocketAddr::from(([10, 0, 0, 1], 8000))] }
            }
            ToAgent::Stop { id, .. } => {
                say("stop".into());
                FromAgent::Stopped { id }
            }
            ToAgent::Run { id, load, .. } => {
                let LoadKind::Http(http) = &load.kind else { panic!("another load than planned: {load:?}") };
                let connections = http.connections.unwrap_or(0);
                say(match &http.open {
                    Some(open) => format!("run {} at {}/s", load.name, open.rate),
                    None => format!("run {} {connections}", load.name),
                });
                if provider.lasting == Some(load.name.as_str()) {
                    continue;
                }
                if provider.dies_at == Some(load.name.as_str()) {
                    FromAgent::Died { id: service, how: "exit status 1".into(), stderr: "out of luck".into() }
                } else {
                    let result = LoadResult {
                        connections,
                        elapsed_ns: 1_000_000,
                        threads: 1,
                        ..LoadResult::default()
                    };
                    FromAgent::Finished { id, result: Box::new(result) }
                }
            }
            ToAgent::BeginProfile { id } => {
                say("begin profile".into());
                FromAgent::Done { id }
            }
            ToAgent::EndProfile { id } => FromAgent::Done { id },
            ToAgent::TakeProfile { id } if provider.unsampled => {
                let why = Failure::Other { what: "sample".into(), error: "not allowed".into() };
                FromAgent::Failed { id: Some(id), why }
            }
            ToAgent::TakeProfile { id } => {
                // The controller knows which rig it asked.
                let mut profile = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, 1000);
                profile.add(&[Frame::new(FrameKind::Host, "a"), Frame::new(FrameKind::Kernel, "walk")], 3);
                FromAgent::Profiled { id, profile: Box::new(profile.build()) }
            }
            ToAgent::Snapshot { id } => FromAgent::Counters { id, snapshot: Snapshot::default() },
            ToAgent::Mark { id } => FromAgent::Done { id },
            ToAgent::Changes { id } => {
                FromAgent::Changed { id, changes: BTreeMap::new(), services_us: Some(30) }
            }
            ToAgent::Sample { hz: 0 } => FromAgent::Sampled { cost: SamplingCost::default() },
            ToAgent::Sample { .. } => continue,
            ToAgent::Drain { id, .. } => FromAgent::Drained { id, waited_ms: 1, left: 0 },
            ToAgent::Flushes { id, .. } => FromAgent::Flushes { id, flushes: FlushFacts::default() },
            ToAgent::Ledger { id, .. } => FromAgent::Ledger { id, ledger: Box::default() },
            ToAgent::Capture { id, capture } => {
                say(format!("capture {} on ports {:?}", capture.name, capture.ports));
                let folder = std::path::PathBuf::from(capture.folder);
                captured = Some(folder.join(capture.name + "-eth0.pcapng"));
                FromAgent::Done { id }
            }
            ToAgent::EndCapture { id } => {
                say("end capture".into());
                let file = captured.take().expect("a capture is under way").to_string_lossy().into_owned();
                let file =
                    CapturedFile { interface: "eth0".into(), file, packets: 7, ..CapturedFile::default() };
                FromAgent::Captured { id, files: vec![file] }
            }
            ToAgent::Act { id, action, .. } => {
                say(action.describe());
                FromAgent::Acted { id, note: "acted".into() }
            }
            ToAgent::End { id } => {
                say("end".into());
                FromAgent::Finished { id, result: Box::default() }
            }
            ToAgent::Inventory(id) => FromAgent::Inventory(id, serde_json::json!({})),
            ToAgent::LastWords { id, .. } => FromAgent::LastWords { id, text: "no words".into() },
            ToAgent::FlushCaches { id } | ToAgent::Reach { id, .. } => FromAgent::Done { id },
        };
        if frame::write(&mut stream, &answer).is_err() {
            return;
        }
    }
}
