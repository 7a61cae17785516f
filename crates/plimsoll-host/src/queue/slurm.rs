//! Slurm: sbatch(1), squeue(1), scancel(1). No accounting is needed (`sacct`).

use std::process::Command;

use plimsoll_model::experiment::Slurm;
use plimsoll_model::shell::shell_word;

use super::{Queue, QueueError, Task, TaskState, Work, output};
use crate::slurm::leave_job;

/// What squeue is to tell of each task: its number, its state, where it runs, and why it waits.
const FORMAT: &str = "%K|%T|%N|%r";

/// Tasks of a run as job arrays of Slurm.
#[derive(Clone, Debug)]
pub struct SlurmQueue {
    /// What is asked for, for each task.
    pub asked: Slurm,
    /// So many tasks run at once at the most; as many as there are machines where nothing is said.
    pub at_once: Option<u32>,
    /// What is submitted.
    pub work: Work,
}

impl Queue for SlurmQueue {
    fn submit(&self, numbers: &[u32]) -> Result<(), QueueError> {
        let at_once = self.at_once.map_or_else(String::new, |most| format!("%{most}"));
        let mut command = Command::new("sbatch");
        command.args([
            format!("--job-name={}", self.work.name),
            format!("--array={}{at_once}", ranges(numbers)),
        ]);
        // Whose machine is lost is submitted again at once: Slurm itself would let it wait for two minutes.
        command.args(["--parsable", "--no-requeue"]);
        command.arg(format!("--output={}", self.work.messages.join("task-%a.txt").display()));
        command.arg("--open-mode=append");
        command.args(self.asked.words());
        leave_job(&mut command);
        output("sbatch", command, &self.script()).map(drop)
    }

    fn tasks(&self) -> Result<Vec<Task>, QueueError> {
        let mut command = Command::new("squeue");
        command.args([
            "--noheader",
            "--array",
            "--me",
            "--format",
            FORMAT,
            "--states=pending,configuring,running,suspended",
        ]);
        command.arg(format!("--name={}", self.work.name));
        leave_job(&mut command);
        Ok(output("squeue", command, "")?.lines().filter_map(task).collect())
    }

    fn cancel(&self) -> Result<(), QueueError> {
        let mut command = Command::new("scancel");
        command.args(["--me", &format!("--name={}", self.work.name)]);
        leave_job(&mut command);
        output("scancel", command, "").map(drop)
    }
}

impl SlurmQueue {
    /// What a task executes: it becomes the program.
    fn script(&self) -> String {
        let words: Vec<_> = self.work.command.iter().map(|word| shell_word(word)).collect();
        format!("#!/bin/sh\nexec {} \"$SLURM_ARRAY_TASK_ID\" \"$SLURMD_NODENAME\"\n", words.join(" "))
    }
}

/// A line of squeue's; nothing of a task that ends just now, or of a job that is no array.
fn task(line: &str) -> Option<Task> {
    let mut words = line.trim().split('|');
    let number = words.next()?.parse().ok()?;
    let (state, machine, why) = (words.next()?, words.next()?, words.next()?);
    let state = match state {
        // Before it has looked at a task, Slurm has no reason.
        "PENDING" if why == "None" => TaskState::Waiting(String::new()),
        "PENDING" => TaskState::Waiting(why.to_owned()),
        _ => TaskState::Running(machine.to_owned()),
    };
    Some(Task { number, state })
}

/// Numbers as `--array` takes them: `1-3,5`.
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let told = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    told.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 5, 7, 8]), "1-3,5,7-8");
        assert_eq!(ranges(&[0]), "0");
    }

    #[test]
    fn tasks_are_read_from_what_squeue_prints() {
        let waits = Task { number: 3, state: TaskState::Waiting("Resources".into()) };
        assert_eq!(task("3|PENDING||Resources"), Some(waits));
        let runs = Task { number: 12, state: TaskState::Running("n1".into()) };
        assert_eq!(task("12|RUNNING|n1|None"), Some(runs));
        assert_eq!(task("N/A|RUNNING|n1|None"), None);
        assert_eq!(task(""), None);
    }

    #[test]
    fn the_script_becomes_the_program_wherever_that_lies() {
        let queue = SlurmQueue {
            asked: Slurm::default(),
            at_once: None,
            work: Work {
                name: "plimsoll-a".into(),
                command: vec!["printf".into(), "%s|".into(), "it's here".into()],
                messages: "/tmp".into(),
            },
        };
        let mut shell = Command::new("sh");
        shell.env("SLURM_ARRAY_TASK_ID", "4").env("SLURMD_NODENAME", "n1");
        assert_eq!(output("sh", shell, &queue.script()).unwrap(), "it's here|4|n1|");
    }
}
