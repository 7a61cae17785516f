//! Machines of Slurm: salloc(1) allocates one for the whole run, and srun(1) starts an agent on it for each trial.

use std::process::Command;

use plimsoll_model::experiment::Slurm;

use super::allocation::Request;
use super::bring::{self, Program};
use crate::slurm::leave_job;

/// Script of the shell; its arguments are salloc's. Both read the same pipe, into which nothing is ever written. A salloc with a machine ends with
/// the pipe. The job of a waiting salloc is cancelled by its name, since a signal during the request is ignored or leaves the job behind. So the
/// name stands behind the user's options, where it wins. If Slurm's controller is gone for good, salloc never ends by itself.
const HOLD: &str = r#"command -v salloc >/dev/null || { echo "there is no program salloc here" >&2; exit 1; }
name=plimsoll-$(od -An -tx8 -N8 /dev/urandom | tr -d ' ')
exec 3<&0
salloc "$@" --job-name="$name" sh -c 'echo "$SLURM_JOB_ID $SLURM_JOB_NODELIST"; exec cat >/dev/null' <&3 &
exec >&-
p=$!
cat <&3 >/dev/null
for pause in 0.2 0.3 0.5 1 2 4 5; do
    sleep $pause
    kill -0 $p 2>/dev/null || exit 0
    timeout 5 scancel --jobname="$name" >/dev/null 2>&1
done
kill -KILL $p 2>/dev/null"#;

/// Request for a machine.
pub(super) fn request(asked: &Slurm) -> Request {
    let mut shell = Command::new("sh");
    shell.args(["-c", HOLD, "hold"]).args(asked.words());
    leave_job(&mut shell);
    Request { queue: "Slurm", shell, start_within: asked.start_within, removed_by: "scancel" }
}

/// Command that starts the agent in a job, and brings it along if it is missing.
pub(super) fn command(job: &str, program: &Program) -> Command {
    let mut command = Command::new("srun");
    // Frames have no lines, so the output is unbuffered; the step shares the job's whole machine with other steps.
    command.args(["--unbuffered", "--overlap", "--nodes=1", "--ntasks=1", "--mem=0"]);
    command.args(["--mpi=none", "--cpu-bind=none", "--input=all"]);
    command.args(["--job-name=plimsoll", &format!("--jobid={job}")]);
    command.args(["/bin/sh", "-c", &bring::remote_command(program)]);
    leave_job(&mut command);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_salloc_is_reported() {
        let mut shell = Command::new("/bin/sh");
        let output = shell.args(["-c", HOLD]).env("PATH", "/nowhere").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "there is no program salloc here\n");
        assert_eq!(output.status.code(), Some(1));
    }

    #[test]
    fn the_agent_is_started_in_the_job_and_its_frames_are_not_held_back() {
        let command = command("7", &Program::of_bytes(b"program"));
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        assert!(
            ["--unbuffered", "--jobid=7"].iter().all(|one| args.iter().any(|arg| arg == one)),
            "{args:?}"
        );
        assert!(args.last().is_some_and(|script| script.starts_with("exec /bin/sh -c '")), "{args:?}");
    }
}
