//! The agents of a trial, and their messages.
//!
//! A thread per agent reads its frames into one queue. Every wait sets samples aside and notices a service's death.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use plimsoll_host::remote::{Clock, Offset};
use plimsoll_model::experiment::{GuestClock, Host, sysctl};
use plimsoll_model::frame::{self, Failure, FromAgent, Id, LoadSpec, PROTOCOL, ToAgent};
use plimsoll_model::observation::{Arm, Fault, FaultKind, Progress, Sample, SamplingCost};

use crate::error::{RunError, TrialStop};
use crate::host_provider::Pipes;
use crate::pending_steps::PHASE_LIMIT;

/// Time between two looks of a wait at the user's requests.
const INTERRUPT_POLL: Duration = Duration::from_millis(50);
/// Deadline for replies that take an agent no time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A host of one of the two rigs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) arm: Arm,
    pub(crate) host: String,
}

impl Key {
    pub(crate) fn new(arm: Arm, host: &str) -> Self {
        Self { arm, host: host.to_owned() }
    }

    /// The name in records: the control's hosts end in `'`.
    pub(crate) fn label(&self) -> String {
        match self.arm {
            Arm::Treatment => self.host.clone(),
            Arm::Control => format!("{}'", self.host),
        }
    }
}

/// A message of an agent's reader thread. `life` is the number of the agent's start.
struct Incoming {
    key: Key,
    life: u32,
    what: Option<FromAgent>,
}

struct Agent {
    to: Box<dyn Write + Send>,
    life: u32,
    /// Offset of its clock, if it is not the controller's.
    clock: Option<Clock>,
    /// Offset at the request of the current load, if that load begins together with others.
    at_start: Option<Offset>,
}

impl Agent {
    /// Converts the times of a message to the controller's clock.
    fn translate(&self, what: &mut FromAgent) {
        let now = || self.clock.as_ref().and_then(Clock::offset);
        let of_load = self.at_start.filter(|_| matches!(what, FromAgent::Finished { .. }));
        let Some(offset) = of_load.or_else(now) else { return };
        let here = |there: &mut u64| *there = there.saturating_add_signed(offset.ahead_ns.saturating_neg());
        match what {
            FromAgent::Samples { samples } => samples.iter_mut().for_each(|sample| here(&mut sample.at_ns)),
            FromAgent::Counters { snapshot, .. } => here(&mut snapshot.at_ns),
            FromAgent::Finished { result, .. } => here(&mut result.started_ns),
            _ => {}
        }
    }
}

/// A request to an agent.
pub(crate) type Request = (Key, Id, ToAgent);

/// Pending requests.
pub(crate) struct PendingRequests(Vec<(Key, Id)>);

/// A message that comes during the wait for a reply.
pub(crate) enum Update<'h> {
    /// Progress of a load.
    Progress(&'h Progress),
    /// Samples of counters.
    Samples(&'h [Sample]),
}

/// Called for each message during a wait, with the host that sent it.
pub(crate) type OnUpdate<'a> = &'a mut dyn FnMut(&Key, Update<'_>);

/// All agents of a trial.
pub(crate) struct AgentPool<'i> {
    agents: BTreeMap<Key, Agent>,
    queue: Receiver<Incoming>,
    sender: Sender<Incoming>,
    interrupt: &'i AtomicBool,
    /// Whether an interrupt of the run ends a wait.
    interruptible: bool,
    skip: &'i AtomicBool,
    /// Whether a skip request ends a wait.
    skippable: bool,
    next_id: Id,
    lives: u32,
    /// Awaited replies, by agent and id.
    awaited: BTreeMap<(Key, Id), Option<FromAgent>>,
    /// Loads that nobody waits for, by agent and id: whose failure ends the trial.
    unattended: BTreeMap<(Key, Id), String>,
    /// Services by agent and id: whose death is a fault.
    services: BTreeMap<(Key, Id), String>,
    /// Host of the agent whose loss ended the trial.
    pub(crate) lost: Option<Key>,
    pub(crate) series: BTreeMap<String, Vec<Sample>>,
    /// Samples that came during other waits. `collect` reports them before they are kept.
    fresh: Vec<(Key, Vec<Sample>)>,
    pub(crate) cost: SamplingCost,
    /// When sampling began, and the CPU time of this process then, in microseconds.
    sampling_since: Option<(Instant, u64)>,
    /// Counters that cannot be read, each with the reason; those of the first host that cannot read them.
    pub(crate) absent: Vec<String>,
}

impl<'i> AgentPool<'i> {
    pub(crate) fn new(interrupt: &'i AtomicBool, skip: &'i AtomicBool) -> Self {
        let (sender, queue) = mpsc::channel();
        Self {
            agents: BTreeMap::new(),
            queue,
            sender,
            interrupt,
            interruptible: true,
            skip,
            skippable: false,
            next_id: 1,
            lives: 0,
            awaited: BTreeMap::new(),
            unattended: BTreeMap::new(),
            services: BTreeMap::new(),
            lost: None,
            series: BTreeMap::new(),
            fresh: Vec::new(),
            cost: SamplingCost::default(),
            sampling_since: None,
            absent: Vec::new(),
        }
    }

    /// Connects to the agent of a host, which may have had another agent before.
    pub(crate) fn join(
        &mut self,
        key: &Key,
        host: &Host,
        cpus: &[u32],
        pipes: Pipes,
        machine: bool,
        profile: bool,
    ) -> Result<(), RunError> {
        self.lives += 1;
        let life = self.lives;
        self.services.retain(|(of, _), _| of != key);
        self.agents.insert(key.clone(), Agent { to: pipes.to, life, clock: pipes.clock, at_start: None });
        let (sender, key_of_thread, mut from) = (self.sender.clone(), key.clone(), pipes.from);
        let listener = thread::Builder::new().name("listener".into()).spawn(move || {
            loop {
                // An error counts as the end: no frame follows either.
                let what = frame::read(&mut from).unwrap_or(None);
                let over = what.is_none();
                if sender.send(Incoming { key: key_of_thread.clone(), life, what }).is_err() || over {
                    return;
                }
            }
        });
        listener.map_err(|error| {
            lost(&key.host, &format!("cannot be listened to (starting a thread: {error})"))
        })?;
        let own_kernel = host.kind.own().kernel;
        let own = host.sysctls.iter().filter(|(name, _)| own_kernel || sysctl::is_of_a_host(name));
        let sysctls = own.map(|(name, value)| (name.clone(), value.to_string())).collect();
        let hello = ToAgent::Hello {
            protocol: PROTOCOL,
            host: key.host.clone(),
            sysctls,
            cpus: cpus.to_vec(),
            machine,
            own_kernel,
            virtual_clock: host.clock == GuestClock::Virtual,
            profile,
        };
        self.send(key, &hello)
    }

    /// Waits until every one of these agents has said hello.
    pub(crate) fn welcome(&mut self, keys: &[Key]) -> Result<(), TrialStop> {
        let mut waiting: Vec<Key> = keys.to_vec();
        let deadline = Instant::now() + PATIENCE;
        while !waiting.is_empty() {
            match self.next(deadline)? {
                Some((key, FromAgent::Welcome { absent, .. })) => {
                    for reason in absent {
                        if !self.absent.contains(&reason) {
                            self.absent.push(reason);
                        }
                    }
                    waiting.retain(|other| *other != key);
                }
                Some((key, FromAgent::Failed { why, .. })) => {
                    return Err(RunError::Agent { host: key.host, why }.into());
                }
                Some(_) => {}
                None => return Err(lost(&waiting[0].host, "does not answer").into()),
            }
        }
        Ok(())
    }

    /// Present offset of a host's clock, if it is not the controller's.
    pub(crate) fn offset(&self, key: &Key) -> Option<Offset> {
        self.agents.get(key)?.clock.as_ref()?.offset()
    }

    /// Notes the offset of a host's clock at the request of a load that begins together with others.
    pub(crate) fn note_start(&mut self, key: &Key, offset: Offset) {
        if let Some(agent) = self.agents.get_mut(key) {
            agent.at_start = Some(offset);
        }
    }

    /// The offset noted by [`Self::note_start`].
    pub(crate) fn start(&self, key: &Key) -> Option<Offset> {
        self.agents.get(key)?.at_start
    }

    /// Forgets these offsets, when no such load runs any more.
    pub(crate) fn forget_starts(&mut self) {
        self.agents.values_mut().for_each(|agent| agent.at_start = None);
    }

    pub(crate) fn id(&mut self) -> Id {
        self.next_id += 1;
        self.next_id
    }

    pub(crate) fn send(&mut self, key: &Key, frame: &ToAgent) -> Result<(), RunError> {
        let agent = self.agents.get_mut(key).ok_or_else(|| lost(&key.host, "is not there"))?;
        frame::write(&mut agent.to, frame).map_err(|error| {
            self.lost = Some(key.clone());
            lost(&key.host, &format!("went away ({error})"))
        })
    }

    /// Sets whether an interrupt ends later waits. Returns the previous value.
    pub(crate) fn may_be_interrupted(&mut self, may: bool) -> bool {
        std::mem::replace(&mut self.interruptible, may)
    }

    /// Sets whether a skip request ends later waits. Returns the previous value.
    pub(crate) fn may_be_skipped(&mut self, may: bool) -> bool {
        std::mem::replace(&mut self.skippable, may)
    }

    /// Takes the pending skip request, if any.
    pub(crate) fn take_skip(&mut self) -> bool {
        self.skip.swap(false, Ordering::AcqRel)
    }

    /// Makes the death of a service a fault of the trial.
    pub(crate) fn depend_on(&mut self, key: &Key, id: Id, service: &str) {
        self.services.insert((key.clone(), id), service.to_owned());
    }

    /// Starts a load that nobody waits for.
    pub(crate) fn set_going(&mut self, key: &Key, name: &str, load: LoadSpec) -> Result<Id, RunError> {
        let id = self.id();
        self.unattended.insert((key.clone(), id), name.to_owned());
        self.send(key, &ToAgent::Run { id, load, at_ns: None })?;
        Ok(id)
    }

    /// Ends awaited loads, waits for their end, and drops their results.
    pub(crate) fn cut_short(&mut self, asked: &PendingRequests) -> Result<(), TrialStop> {
        for (key, id) in &asked.0 {
            if matches!(self.awaited.get(&(key.clone(), *id)), Some(None)) {
                self.send(key, &ToAgent::End { id: *id })?;
            }
        }
        match self.collect(asked, Instant::now() + PATIENCE, &mut |_, _| {})? {
            Some(_) => Ok(()),
            None => Err(too_long(&self.silent(asked))),
        }
    }

    /// Ends such a load, and waits for its end.
    pub(crate) fn call_off(&mut self, key: &Key, id: Id) -> Result<(), TrialStop> {
        if self.unattended.remove(&(key.clone(), id)).is_none() {
            return Ok(());
        }
        let requests = [(key.clone(), id, ToAgent::End { id })];
        self.ask_all(&requests, Instant::now() + PATIENCE, &mut |_, _| {}).map(drop)
    }

    /// Makes the death of a service no fault any more.
    pub(crate) fn release(&mut self, key: &Key, id: Id) {
        self.services.remove(&(key.clone(), id));
    }

    /// Sends requests to several agents at once, and gives their answers in the order of the requests.
    pub(crate) fn ask_all(
        &mut self,
        requests: &[(Key, Id, ToAgent)],
        deadline: Instant,
        on_update: OnUpdate<'_>,
    ) -> Result<Vec<FromAgent>, TrialStop> {
        let asked = self.begin(requests)?;
        match self.collect(&asked, deadline, on_update) {
            Ok(Some(answers)) => Ok(answers),
            Ok(None) => Err(too_long(&self.silent(&asked))),
            Err(stop) => {
                // The replies are no longer awaited.
                asked.0.iter().for_each(|one| drop(self.awaited.remove(one)));
                Err(stop)
            }
        }
    }

    /// Sends requests to several agents at once. Their answers are kept until they are collected, whatever is asked meanwhile.
    pub(crate) fn begin(&mut self, requests: &[(Key, Id, ToAgent)]) -> Result<PendingRequests, TrialStop> {
        for (key, id, request) in requests {
            self.awaited.insert((key.clone(), *id), None);
            self.send(key, request)?;
        }
        Ok(PendingRequests(requests.iter().map(|(key, id, _)| (key.clone(), *id)).collect()))
    }

    /// The replies in the order of the requests, once all are there; `None` at the deadline `until`.
    pub(crate) fn collect(
        &mut self,
        asked: &PendingRequests,
        until: Instant,
        on_update: OnUpdate<'_>,
    ) -> Result<Option<Vec<FromAgent>>, TrialStop> {
        while !self.silent(asked).is_empty() {
            let next = self.next(until)?;
            for (key, samples) in std::mem::take(&mut self.fresh) {
                on_update(&key, Update::Samples(&samples));
                self.keep(&key, samples);
            }
            let Some((key, what)) = next else { return Ok(None) };
            match what {
                FromAgent::Progress { progress, .. } => on_update(&key, Update::Progress(&progress)),
                what => self.keep_answer(key, what)?,
            }
        }
        let answers = asked.0.iter().filter_map(|one| self.awaited.remove(one).flatten());
        Ok(Some(answers.collect()))
    }

    /// The hosts that have not answered yet.
    pub(crate) fn silent(&self, asked: &PendingRequests) -> Vec<String> {
        let silent = asked.0.iter().filter(|one| matches!(self.awaited.get(one), Some(None)));
        silent.map(|(key, _)| key.label()).collect()
    }

    /// Keeps an awaited reply.
    fn keep_answer(&mut self, key: Key, what: FromAgent) -> Result<(), TrialStop> {
        if let FromAgent::Failed { id: None, why } = what {
            return Err(RunError::Agent { host: key.host, why }.into());
        }
        if let Some(id) = answers_to(&what)
            && let Some(answer) = self.awaited.get_mut(&(key, id))
        {
            *answer = Some(what);
        }
        Ok(())
    }

    /// Sends one request and waits for its answer.
    pub(crate) fn ask(
        &mut self,
        key: &Key,
        request: impl FnOnce(Id) -> ToAgent,
    ) -> Result<FromAgent, TrialStop> {
        let id = self.id();
        let requests = [(key.clone(), id, request(id))];
        let answers = self.ask_all(&requests, Instant::now() + PATIENCE, &mut |_, _| {})?;
        Ok(answers.into_iter().next().expect("one answer for one request"))
    }

    /// Sends each of these agents a request and waits up to the length of a phase; the replies have the order of the agents.
    pub(crate) fn ask_each(
        &mut self,
        keys: &[Key],
        request: impl Fn(Id) -> ToAgent,
    ) -> Result<Vec<FromAgent>, TrialStop> {
        let mut requests = Vec::new();
        for key in keys {
            let id = self.id();
            requests.push((key.clone(), id, request(id)));
        }
        self.ask_all(&requests, Instant::now() + PHASE_LIMIT, &mut |_, _| {})
    }

    /// Waits until a time, and handles messages meanwhile.
    pub(crate) fn idle(&mut self, until: Instant) -> Result<(), TrialStop> {
        while let Some((key, what)) = self.next(until)? {
            self.keep_answer(key, what)?;
        }
        Ok(())
    }

    /// Starts sampling on these agents; does nothing at 0 Hz.
    pub(crate) fn sample(&mut self, keys: &[Key], hz: u32) -> Result<(), RunError> {
        if hz == 0 {
            return Ok(());
        }
        self.sampling_since.get_or_insert_with(|| (Instant::now(), process_cpu_us()));
        keys.iter().try_for_each(|key| self.send(key, &ToAgent::Sample { hz }))
    }

    /// Ends sampling on all agents, and waits for the remaining samples. Late ones are lost.
    pub(crate) fn end_sampling(&mut self) {
        let keys: Vec<Key> = self.agents.keys().cloned().collect();
        let mut waiting: Vec<Key> =
            keys.into_iter().filter(|key| self.send(key, &ToAgent::Sample { hz: 0 }).is_ok()).collect();
        if let Some((since, before)) = self.sampling_since {
            let cpus = thread::available_parallelism().map_or(1, usize::from);
            self.cost.controller_us = process_cpu_us().saturating_sub(before);
            self.cost.machine_us =
                u64::try_from(since.elapsed().as_micros() * cpus as u128).unwrap_or(u64::MAX);
        }
        let deadline = Instant::now() + Duration::from_secs(2);
        while !waiting.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(Incoming { key, mut what, .. }) = self.queue.recv_timeout(left) else { return };
            if let (Some(agent), Some(what)) = (self.agents.get(&key), &mut what) {
                agent.translate(what);
            }
            match what {
                Some(FromAgent::Samples { samples }) => self.keep(&key, samples),
                Some(FromAgent::Sampled { cost }) => {
                    self.cost.samples += cost.samples;
                    self.cost.cpu_us += cost.cpu_us;
                    self.cost.agents_us += cost.agents_us;
                    self.cost.elapsed_us = self.cost.elapsed_us.max(cost.elapsed_us);
                    waiting.retain(|other| *other != key);
                }
                None => waiting.retain(|other| *other != key),
                Some(_) => {}
            }
        }
    }

    /// Keeps the samples that no `collect` has reported.
    pub(crate) fn keep_fresh(&mut self) {
        for (key, samples) in std::mem::take(&mut self.fresh) {
            self.keep(&key, samples);
        }
    }

    fn keep(&mut self, key: &Key, samples: Vec<Sample>) {
        self.series.entry(key.label()).or_default().extend(samples);
    }

    /// The next message that is not handled here; `None` at the deadline.
    fn next(&mut self, deadline: Instant) -> Result<Option<(Key, FromAgent)>, TrialStop> {
        loop {
            if self.interruptible && self.interrupt.load(Ordering::Acquire) {
                return Err(TrialStop::Interrupted);
            }
            if self.skippable && self.skip.load(Ordering::Acquire) {
                return Err(TrialStop::Skipped);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let mut incoming = match self.queue.recv_timeout(left.min(INTERRUPT_POLL)) {
                Ok(incoming) => incoming,
                Err(RecvTimeoutError::Timeout) if left <= INTERRUPT_POLL => return Ok(None),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => unreachable!("the pool holds a sender itself"),
            };
            let Some(agent) = self.agents.get(&incoming.key).filter(|agent| agent.life == incoming.life)
            else {
                continue;
            };
            incoming.what.iter_mut().for_each(|what| agent.translate(what));
            match incoming.what {
                None => {
                    let lost = agent_lost(&incoming.key);
                    self.lost = Some(incoming.key);
                    return Err(lost);
                }
                Some(FromAgent::Samples { samples }) => self.fresh.push((incoming.key, samples)),
                Some(FromAgent::Died { id, how, stderr }) => {
                    if let Some(service) = self.services.get(&(incoming.key.clone(), id)) {
                        return Err(service_died(&incoming.key, service, &how, &stderr));
                    }
                }
                Some(what) => match self.of_unattended(&incoming.key, &what) {
                    None => return Ok(Some((incoming.key, what))),
                    Some(result) => result?,
                },
            }
        }
    }
}

impl AgentPool<'_> {
    /// Checks a message about a load that nobody waits for; `None` if the message is about something else.
    fn of_unattended(&self, key: &Key, what: &FromAgent) -> Option<Result<(), TrialStop>> {
        let id = match what {
            FromAgent::Progress { id, .. } => *id,
            what => answers_to(what)?,
        };
        let load = self.unattended.get(&(key.clone(), id))?;
        let failed =
            |why: Failure| Err(RunError::Load { load: load.clone(), host: key.host.clone(), why }.into());
        Some(match what {
            FromAgent::Failed { why, .. } => failed(why.clone()),
            FromAgent::Finished { .. } => failed(Failure::Other {
                what: "run for the whole measurement".into(),
                error: "it ended by itself".into(),
            }),
            _ => Ok(()),
        })
    }
}

/// Id of the request that a frame answers.
fn answers_to(what: &FromAgent) -> Option<Id> {
    match what {
        FromAgent::Ready { id, .. }
        | FromAgent::Stopped { id }
        | FromAgent::Finished { id, .. }
        | FromAgent::Profiled { id, .. }
        | FromAgent::Counters { id, .. }
        | FromAgent::Changed { id, .. }
        | FromAgent::Drained { id, .. }
        | FromAgent::Captured { id, .. }
        | FromAgent::Ledger { id, .. }
        | FromAgent::Flushes { id, .. }
        | FromAgent::LastWords { id, .. }
        | FromAgent::Inventory(id, _)
        | FromAgent::Acted { id, .. }
        | FromAgent::Done { id } => Some(*id),
        FromAgent::Failed { id, .. } => *id,
        FromAgent::Greeting(_)
        | FromAgent::Pong { .. }
        | FromAgent::Welcome { .. }
        | FromAgent::Died { .. }
        | FromAgent::Progress { .. }
        | FromAgent::Samples { .. }
        | FromAgent::Sampled { .. } => None,
    }
}

fn lost(host: &str, how: &str) -> RunError {
    RunError::Lost { host: host.into(), how: how.into() }
}

/// The error for a reply that does not match its request.
pub(crate) fn off_the_mark(host: &str) -> TrialStop {
    RunError::Lost { host: host.to_owned(), how: "answered with something else".into() }.into()
}

fn agent_lost(key: &Key) -> TrialStop {
    let what = format!("the agent on `{}` went away", key.label());
    TrialStop::Fault(Fault { phase: String::new(), kind: FaultKind::AgentLost, what })
}

fn service_died(key: &Key, service: &str, how: &str, stderr: &str) -> TrialStop {
    let wrote = match stderr.trim() {
        "" => String::new(),
        text => format!("; on stderr it wrote: {text}"),
    };
    let what = format!("the service `{service}` on `{}` ended: {how}{wrote}", key.label());
    TrialStop::Fault(Fault { phase: String::new(), kind: FaultKind::ServiceDied, what })
}

/// The error for missing replies at the deadline.
pub(crate) fn too_long(silent: &[String]) -> TrialStop {
    let silent = silent.first().map_or("", String::as_str);
    let what = format!("`{silent}` had not answered when the time for it was over");
    TrialStop::Fault(Fault { phase: String::new(), kind: FaultKind::Deadline, what })
}

/// CPU time of this process, in microseconds.
fn process_cpu_us() -> u64 {
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds().unsigned_abs())
}
