//! Frames in, facts out: runs services and loads on a host and samples it.
//!
//! The agent speaks [`plimsoll_model::frame`] over its stdin and stdout and opens no port. It ends when its stdin does, and its
//! services end with it. Each service is a process of its own ([`service::main`]), so that a service may fork, be restarted and be
//! counted by itself; loads are threads of the agent.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr)]

mod act;
mod capture;
mod child;
mod cpu_time;
mod exec;
mod folder;
mod load;
mod needs;
mod oom_killer;
mod outbox;
mod own_profile;
mod program;
mod ready;
mod remote;
pub mod sandbox;
pub mod service;
mod settings;

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plimsoll_inventory::Inventory;
use plimsoll_model::frame::{self, Failure, FromAgent, Id, PROTOCOL, ToAgent};
use plimsoll_probe::{Counters, Depth, Sampler, Scope, Series, thread_cpu_time};

use act::{ActionRequest, Acts};
use capture::Captures;
use cpu_time::ServicesTime;
use load::Loads;
use outbox::Outbox;
use own_profile::OwnProfile;
use service::Services;

pub use exec::find as find_program;
pub use load::main as load_main;
pub use needs::needs_of;
pub use program::program_version;
pub use remote::ChangeSettings;

/// How often connections are counted while waiting for the last to go.
const DRAIN_POLL: Duration = Duration::from_millis(20);

/// Serves the controller at the other end of `input` and `output` until `input` ends. On an existing machine, `change` changes its
/// settings.
///
/// # Errors
/// When the streams fail, or what comes is no frame.
pub fn run(
    mut input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    change: ChangeSettings,
) -> io::Result<()> {
    remote::leave_no_file();
    // A Ctrl-C at the terminal is the controller's to handle; as a session of its own the host does not get it. Where the agent
    // leads a session already, this fails, and nothing is lost.
    nix::unistd::setsid().ok();
    let outbox = Outbox::new(output)?;
    let mut agent = Agent::new(outbox.clone());
    // No request is pending before the first frame.
    outbox.settle()?;
    let mut next = frame::read::<ToAgent>(&mut input)?;
    if let Some(ToAgent::Greet { protocol, silence_ms }) = next {
        return remote::serve(input, &outbox, protocol, Duration::from_millis(silence_ms), change);
    }
    while let Some(request) = next {
        agent.take(request)?;
        next = frame::read(&mut input)?;
    }
    Ok(())
}

struct Agent {
    outbox: Outbox,
    /// The host's name in the experiment.
    host: String,
    scope: Scope,
    counters: Option<Counters>,
    sampler: Option<Sampler>,
    /// CPU time of this thread when sampling began.
    cpu_before: Duration,
    /// CPU time of threads that waited for connections to go, in microseconds.
    drained_us: Arc<AtomicU64>,
    own_profile: OwnProfile,
    services: Services,
    services_time: ServicesTime,
    loads: Loads,
    captures: Captures,
    acts: Acts,
    /// How settings are changed where they outlive the agent.
    change: Option<ChangeSettings>,
    /// Changes that are undone when this is dropped.
    changed: Vec<Box<dyn Any + Send>>,
}

impl Agent {
    fn new(outbox: Outbox) -> Self {
        Self {
            services: Services::new(outbox.clone()),
            services_time: ServicesTime::default(),
            loads: Loads::new(outbox.clone()),
            captures: Captures::new(outbox.clone()),
            acts: Acts::default(),
            outbox,
            host: String::new(),
            scope: Scope::MachineAndHost,
            counters: None,
            sampler: None,
            cpu_before: Duration::ZERO,
            drained_us: Arc::default(),
            own_profile: OwnProfile::default(),
            change: None,
            changed: Vec::new(),
        }
    }

    /// Carries out a request.
    fn take(&mut self, request: ToAgent) -> io::Result<()> {
        let answered = request.is_answered();
        self.outbox.owe();
        self.handle(request)?;
        if answered { Ok(()) } else { self.outbox.settle() }
    }

    fn handle(&mut self, request: ToAgent) -> io::Result<()> {
        match request {
            ToAgent::Greet { .. } | ToAgent::Ping { .. } => {
                self.outbox.fail(None, other("answer", "a greeting must be the first message"))
            }
            ToAgent::Hello { protocol, host, sysctls, cpus, machine, own_kernel, virtual_clock, profile } => {
                self.host = host;
                self.loads.exactly = virtual_clock;
                if profile {
                    self.own_profile.prepare(virtual_clock);
                }
                let settings = settings::Settings { sysctls, cpus, own_kernel };
                self.hello(protocol, settings, machine)
            }
            ToAgent::Start { id, service } => self.services.start(id, service),
            ToAgent::Stop { id, kill } => self.services.stop(id, kill),
            ToAgent::Run { id, load, at_ns } => self.loads.run(id, load, at_ns),
            ToAgent::BeginProfile { id } => {
                self.own_profile.prepare(self.loads.exactly);
                self.own_profile.begin(&self.host);
                self.outbox.send(&FromAgent::Done { id })
            }
            ToAgent::EndProfile { id } => {
                self.own_profile.end();
                self.outbox.send(&FromAgent::Done { id })
            }
            ToAgent::TakeProfile { id } => match self.own_profile.take() {
                Ok(profile) => self.outbox.send(&FromAgent::Profiled { id, profile: Box::new(profile) }),
                Err(why) => self.outbox.fail(Some(id), why),
            },
            ToAgent::End { id } => {
                self.loads.end(id);
                Ok(())
            }
            ToAgent::Snapshot { id } => self.answer_from_counters(id, |counters| FromAgent::Counters {
                id,
                snapshot: counters.read(Depth::Deep),
            }),
            ToAgent::Mark { id } => {
                self.services_time.mark(&self.services.groups());
                self.answer_from_counters(id, |counters| {
                    counters.mark();
                    FromAgent::Done { id }
                })
            }
            ToAgent::Changes { id } => {
                let services_us = self.services_time.since_mark(&self.services.groups());
                self.answer_from_counters(id, |counters| {
                    let changes = counters.changes_since_mark();
                    FromAgent::Changed { id, changes, services_us }
                })
            }
            ToAgent::Sample { hz } => self.sample(hz),
            ToAgent::Drain { id, time_wait, give_up_ms } => {
                let waiting = self.drain(id, time_wait, Duration::from_millis(give_up_ms));
                waiting
                    .or_else(|error| self.outbox.fail(Some(id), other("wait for connections to go", error)))
            }
            ToAgent::Capture { id, capture } => self.captures.start(id, &capture),
            ToAgent::EndCapture { id } => self.captures.stop(id),
            ToAgent::Ledger { id, service } => self.services.ledger(id, service),
            ToAgent::Flushes { id, service } => self.services.flushes(id, service),
            ToAgent::LastWords { id, service } => {
                let text = self.services.words(service);
                self.outbox.send(&FromAgent::LastWords { id, text })
            }
            ToAgent::Inventory(id) => match serde_json::to_value(Inventory::read(Path::new("/"))) {
                Ok(inventory) => self.outbox.send(&FromAgent::Inventory(id, inventory)),
                Err(error) => self.outbox.fail(Some(id), other("describe the host", error)),
            },
            ToAgent::Reach { id, targets, ready } => {
                ready::reach_from_here(self.outbox.clone(), id, targets, ready);
                Ok(())
            }
            ToAgent::Act { id, action, service, volume } => {
                self.acts.act(&self.outbox, &self.services, id, ActionRequest { action, service, volume })
            }
            ToAgent::FlushCaches { id } => match settings::flush_routes() {
                Ok(()) => self.outbox.send(&FromAgent::Done { id }),
                Err(why) => self.outbox.fail(Some(id), why),
            },
        }
    }

    fn hello(&mut self, protocol: u32, mut settings: settings::Settings, machine: bool) -> io::Result<()> {
        if protocol != PROTOCOL {
            let error = format!(
                "this agent speaks version {PROTOCOL} of the frames, the controller version {protocol}"
            );
            return self.outbox.fail(None, Failure::Other { what: "greet the controller".into(), error });
        }
        if let Some(change) = self.change.filter(|_| !settings.sysctls.is_empty()) {
            match change(&settings.sysctls.drain(..).collect()) {
                Ok(changed) => self.changed.push(changed),
                Err(error) => return self.outbox.fail(None, other("change settings", error)),
            }
        }
        if let Err(why) = settings.apply() {
            return self.outbox.fail(None, why);
        }
        self.scope = if machine { Scope::MachineAndHost } else { Scope::HostOnly };
        let absent = match self.counters() {
            Ok(counters) => {
                counters.absent().iter().map(|absence| format!("{}: {}", absence.file, absence.why)).collect()
            }
            Err(why) => return self.outbox.fail(None, why),
        };
        let at_ns = plimsoll_probe::clock::raw_now_ns();
        self.outbox.send(&FromAgent::Welcome { protocol: PROTOCOL, pid: std::process::id(), at_ns, absent })
    }

    /// The counters, opened at their first use.
    fn counters(&mut self) -> Result<&mut Counters, Failure> {
        if self.counters.is_none() {
            self.counters = Some(open_counters(self.scope)?);
        }
        Ok(self.counters.as_mut().expect("they were opened in the line before"))
    }

    fn answer_from_counters(
        &mut self,
        id: Id,
        answer: impl FnOnce(&mut Counters) -> FromAgent,
    ) -> io::Result<()> {
        match self.counters() {
            Ok(counters) => {
                let answer = answer(counters);
                self.outbox.send(&answer)
            }
            Err(why) => self.outbox.fail(Some(id), why),
        }
    }

    fn sample(&mut self, hz: u32) -> io::Result<()> {
        let cost = self.sampler.take().map(Sampler::stop);
        if hz == 0 {
            let mut cost = cost.unwrap_or_default();
            cost.agents_us = micros(thread_cpu_time().saturating_sub(self.cpu_before))
                + self.drained_us.load(Ordering::Acquire);
            return self.outbox.send(&FromAgent::Sampled { cost });
        }
        self.cpu_before = thread_cpu_time();
        let outbox = self.outbox.clone();
        let deliver = move |samples| outbox.send_or_drop(&FromAgent::Samples { samples });
        let started = open_counters(self.scope).and_then(|counters| {
            Sampler::start(counters, hz, Series::Changes, deliver)
                .map_err(|e| other("sample the counters", e))
        });
        match started {
            Ok(sampler) => {
                self.sampler = Some(sampler);
                Ok(())
            }
            Err(why) => self.outbox.fail(None, why),
        }
    }

    /// Waits in its own thread, so that the agent still accepts a stop request.
    fn drain(&self, id: Id, time_wait: bool, give_up: Duration) -> io::Result<()> {
        let (outbox, drained_us) = (self.outbox.clone(), Arc::clone(&self.drained_us));
        let waiter = thread::Builder::new().name("drain".into());
        let waiting = waiter.spawn(move || {
            let (start, before_us) = (Instant::now(), drained_us.load(Ordering::Acquire));
            loop {
                let connections = plimsoll_probe::connections(time_wait);
                drained_us.store(before_us + micros(thread_cpu_time()), Ordering::Release);
                let left = match connections {
                    Ok(left) => left,
                    Err(error) => {
                        return outbox.send_or_drop(&FromAgent::Failed {
                            id: Some(id),
                            why: other("count connections", error),
                        });
                    }
                };
                if left == 0 || start.elapsed() >= give_up {
                    let waited_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                    return outbox.send_or_drop(&FromAgent::Drained { id, waited_ms, left });
                }
                thread::sleep(DRAIN_POLL);
            }
        });
        waiting.map(drop)
    }
}

fn open_counters(scope: Scope) -> Result<Counters, Failure> {
    Counters::open_scope(Path::new("/"), scope).map_err(|error| other("read the kernel's counters", error))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A failure that has no kind of its own.
fn other(what: impl Into<String>, error: impl std::fmt::Display) -> Failure {
    Failure::Other { what: what.into(), error: error.to_string() }
}

/// Things by id.
type ById<T> = BTreeMap<Id, T>;
