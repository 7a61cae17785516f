//! Packets as a probe: captures begin before the slices of a measured phase and end after them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_model::experiment::Capture;
use plimsoll_model::frame::{CaptureSpec, FromAgent, Id, ToAgent};
use plimsoll_model::observation::{CaptureRecord, CapturedFile};
use plimsoll_store::CAPTURES;

use crate::agent_pool::Key;
use crate::deployment::Deployment;
use crate::error::{RunError, TrialStop};
use crate::trial::Trial;

/// Deadline for writing the rest of a capture.
const WRITTEN_WITHIN: Duration = Duration::from_secs(300);

/// Running captures of a phase.
#[derive(Default)]
pub(crate) struct Captures(Vec<(Key, Id)>);

/// Begins captures on the hosts that the experiment names, if it wants packets of this phase.
pub(crate) fn begin_capture(trial: &mut Trial<'_>, phase: &str) -> Result<Captures, TrialStop> {
    let experiment = trial.experiment;
    let capture = experiment.capture.as_ref().filter(|capture| capture.is_in(phase));
    let Some(capture) = capture.filter(|_| experiment.run.probes) else { return Ok(Captures::default()) };
    let mut requests = Vec::new();
    for host in capture.hosts(&experiment.loads) {
        for deployment in &trial.rigs.deployments {
            let spec = spec(trial, capture, deployment, &host, phase)?;
            let id = trial.rigs.agents.id();
            requests.push((deployment.key(&host), id, ToAgent::Capture { id, capture: spec }));
        }
    }
    let keys = requests.iter().map(|(key, id, _)| (key.clone(), *id)).collect();
    let answers = trial.rigs.agents.ask_all(&requests, Instant::now() + WRITTEN_WITHIN, &mut |_, _| {})?;
    for ((key, ..), answer) in requests.iter().zip(answers) {
        if let FromAgent::Failed { why, .. } = answer {
            return Err(RunError::Agent { host: key.host.clone(), why }.into());
        }
    }
    Ok(Captures(keys))
}

fn spec(
    trial: &Trial<'_>,
    capture: &Capture,
    deployment: &Deployment<'_>,
    host: &str,
    phase: &str,
) -> Result<CaptureSpec, TrialStop> {
    let label = deployment.key(host).label();
    let cycle = if trial.recorder.cycle > 0 { format!("-{}", trial.recorder.cycle) } else { String::new() };
    let name =
        format!("{:03}-{}{cycle}-{}", trial.recorder.record.number, file_name(phase), file_name(&label));
    Ok(CaptureSpec {
        folder: capture_folder(trial).to_string_lossy().into_owned(),
        name,
        addresses: deployment.addresses_towards(host, &capture.towards)?,
        ports: deployment.ports(&capture.services),
        snap: capture.snap,
        ring: capture.ring.0,
    })
}

/// Ends captures, and reads their packets.
pub(crate) fn end_capture(trial: &mut Trial<'_>, running: Captures) -> Result<(), TrialStop> {
    let requests: Vec<_> =
        running.0.into_iter().map(|(key, id)| (key, id, ToAgent::EndCapture { id })).collect();
    let answers = trial.rigs.agents.ask_all(&requests, Instant::now() + WRITTEN_WITHIN, &mut |_, _| {})?;
    for ((key, ..), answer) in requests.into_iter().zip(answers) {
        let FromAgent::Captured { files, .. } = answer else {
            return Err(RunError::Lost { host: key.host, how: "answered with something else".into() }.into());
        };
        for file in files {
            let record = read(trial, &key, file);
            trial.recorder.current().captures.push(record);
        }
    }
    Ok(())
}

fn read(trial: &Trial<'_>, key: &Key, mut file: CapturedFile) -> CaptureRecord {
    let path = PathBuf::from(&file.file);
    let traffic = match trial.context.judge.read_packets(&path) {
        Ok(traffic) => Some(traffic),
        Err(error) => {
            file.error.get_or_insert(error);
            None
        }
    };
    let beside = store_folder(trial);
    file.file = path.strip_prefix(beside).unwrap_or(&path).to_string_lossy().into_owned();
    CaptureRecord { arm: key.arm, host: key.host.clone(), file, traffic }
}

/// In full, because agents may work in another folder.
fn store_folder(trial: &Trial<'_>) -> PathBuf {
    let folder = match trial.recorder.store.place().folder() {
        here if here == Path::new("") => Path::new("."),
        folder => folder,
    };
    // The user may have links of his own on the way to the store; agents follow none.
    let whole = folder.canonicalize().or_else(|_| std::path::absolute(folder));
    whole.unwrap_or_else(|_| folder.to_owned())
}

fn capture_folder(trial: &Trial<'_>) -> PathBuf {
    store_folder(trial).join(CAPTURES).join(trial.recorder.run)
}

/// A text as part of the name of a file.
fn file_name(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '\'');
    text.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_phase_leads_out_of_the_folder() {
        assert_eq!(file_name("../etc/passwd"), ".._etc_passwd");
        assert_eq!(file_name("firewall'"), "firewall'");
        assert_eq!(file_name("größe 1"), "gr__e_1");
    }
}
