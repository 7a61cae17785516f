//! Slurm: sbatch(1), squeue(1), scancel(1). No accounting is needed (`sacct`).

use std::process::Command;

use plimsoll_model::experiment::Slurm;
use plimsoll_model::shell::shell_word;

use super::{Queue, QueueError, Task, TaskState, Work, output};
use crate::slurm::leave_job;

/// Columns of squeue: index, state, machine and reason of a task, and the comment on its array.
const FORMAT: &str = "%K|%T|%N|%r|%k";

/// Prefix of the comment on an array: the number of the task with index 0, if that is not 0.
const FIRST: &str = "plimsoll-first=";

/// Default number of an array's indices (slurm.conf(5), `MaxArraySize`).
const INDICES: u32 = 1001;

/// Tasks of a run as job arrays of Slurm.
#[derive(Clone, Debug)]
pub struct SlurmQueue {
    /// The resources requested for each task.
    pub asked: Slurm,
    /// The most tasks that run at once; by default as many as there are machines.
    pub at_once: Option<u32>,
    /// The submitted program.
    pub work: Work,
}

impl Queue for SlurmQueue {
    fn submit(&self, numbers: &[u32]) -> Result<(), QueueError> {
        let mut jobs: Vec<String> = Vec::new();
        for array in arrays(numbers, indices()) {
            // Slurm limits the tasks at once only within an array.
            let after = self.at_once.and(jobs.last());
            match self.submit_array(&array, after) {
                Ok(job) => jobs.push(job),
                Err(error) => {
                    if !jobs.is_empty() {
                        // The refusal matters more than an error of the cancellation, which the end of the run repeats.
                        scancel(&jobs).ok();
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
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
        scancel(&["--me".to_owned(), format!("--name={}", self.work.name)])
    }
}

impl SlurmQueue {
    /// Submits an array, which waits until the job `after` has ended. Returns its job.
    fn submit_array(&self, array: &Array, after: Option<&String>) -> Result<String, QueueError> {
        let at_once = self.at_once.map_or_else(String::new, |most| format!("%{most}"));
        let mut command = Command::new("sbatch");
        command.arg(format!("--array={}{at_once}", ranges(&array.indices)));
        // The controller submits a lost task again at once: Slurm itself would let it wait for two minutes.
        command.args(["--parsable", "--no-requeue"]);
        command.arg(format!("--output={}", self.work.messages.join(array.messages()).display()));
        command.arg("--open-mode=append");
        command.args(after.map(|job| format!("--dependency=afterany:{job}")));
        command.args(self.asked.words());
        // The name finds tasks again: of two names, or two comments, the last one counts.
        command.arg(format!("--job-name={}", self.work.name));
        if array.first > 0 {
            // squeue prints it, also for a controller that resumes the run.
            command.arg(format!("--comment={FIRST}{}", array.first));
        }
        leave_job(&mut command);
        let reply = output("sbatch", command, &self.script(array.first))?;
        // The name of the cluster follows where there are several.
        Ok(reply.trim().split(';').next().unwrap_or_default().to_owned())
    }

    /// Script of a task, which becomes the program. `first` is the number of the task with index 0.
    fn script(&self, first: u32) -> String {
        let words: Vec<_> = self.work.command.iter().map(|word| shell_word(word)).collect();
        let number = format!("$(({first} + SLURM_ARRAY_TASK_ID))");
        format!("#!/bin/sh\nexec {} \"{number}\" \"$SLURMD_NODENAME\"\n", words.join(" "))
    }
}

/// Tasks that go in one job array: their numbers are those of Slurm's indices, and `first` more.
#[derive(Debug, PartialEq, Eq)]
struct Array {
    first: u32,
    indices: Vec<u32>,
    /// Largest number of digits of an index; `first` ends with as many zeros.
    digits: usize,
}

impl Array {
    /// The file of each task's messages: `task-` and its number, as Slurm can put it together (sbatch(1), filename pattern).
    fn messages(&self) -> String {
        match (self.first, self.digits) {
            (0, _) => "task-%a.txt".to_owned(),
            (first, 0) => format!("task-{first}.txt"),
            (first, digits) => {
                let first = first.to_string();
                format!("task-{}%{digits}a.txt", &first[..first.len() - digits])
            }
        }
    }
}

/// The job arrays for the tasks, if an array has `indices` indices from 0 on. Each has a power of ten.
fn arrays(numbers: &[u32], indices: u32) -> Vec<Array> {
    let digits = indices.max(1).ilog10();
    let length = 10_u32.pow(digits);
    let of_one = |one: &u32, other: &u32| one / length == other / length;
    let array = |numbers: &[u32]| Array {
        first: numbers[0] / length * length,
        indices: numbers.iter().map(|number| number % length).collect(),
        digits: digits as usize,
    };
    numbers.chunk_by(of_one).map(array).collect()
}

/// Number of indices of an array of this Slurm; the default if it is unknown.
fn indices() -> u32 {
    let mut command = Command::new("scontrol");
    command.args(["show", "config"]);
    leave_job(&mut command);
    output("scontrol", command, "").ok().and_then(|text| most_indices(&text)).unwrap_or(INDICES)
}

/// `MaxArraySize = 1001` in the output of `scontrol show config`.
fn most_indices(text: &str) -> Option<u32> {
    let mut lines = text.lines().filter_map(|line| line.split_once('='));
    let (_, value) = lines.find(|(key, _)| key.trim() == "MaxArraySize")?;
    value.trim().parse().ok()
}

/// Cancels jobs with these arguments.
fn scancel(which: &[String]) -> Result<(), QueueError> {
    let mut command = Command::new("scancel");
    command.args(which);
    leave_job(&mut command);
    output("scancel", command, "").map(drop)
}

/// Task of a line of squeue; `None` for a task that is ending, or a job without an array.
fn task(line: &str) -> Option<Task> {
    let mut words = line.trim().splitn(5, '|');
    let index: u32 = words.next()?.parse().ok()?;
    let (state, machine, why) = (words.next()?, words.next()?, words.next()?);
    let first = match words.next()?.strip_prefix(FIRST) {
        Some(first) => first.parse().ok()?,
        None => 0,
    };
    let number = index.checked_add(first)?;
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
    let texts = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 5, 7, 8]), "1-3,5,7-8");
        assert_eq!(ranges(&[0]), "0");
    }

    #[test]
    fn numbers_beyond_what_an_array_has_go_in_arrays_of_their_own() {
        let array = |first, indices: &[u32], digits| Array { first, indices: indices.into(), digits };
        assert_eq!(arrays(&[1, 2, 1000], 1_000_000), [array(0, &[1, 2, 1000], 6)]);
        let all = arrays(&[998, 999, 1000, 1001, 1007, 2000], 1001);
        let expected = [array(0, &[998, 999], 3), array(1000, &[0, 1, 7], 3), array(2000, &[0], 3)];
        assert_eq!(all, expected);
        let files: Vec<String> = all.iter().map(Array::messages).collect();
        assert_eq!(files, ["task-%a.txt", "task-1%3a.txt", "task-2%3a.txt"]);
        let narrow = arrays(&[0, 12], 5);
        assert_eq!(narrow, [array(0, &[0], 0), array(12, &[0], 0)]);
        assert_eq!(narrow[1].messages(), "task-12.txt");
        assert_eq!(arrays(&[3], 0), arrays(&[3], 1));
        assert_eq!(arrays(&[], 1001), []);
    }

    #[test]
    fn how_many_indices_an_array_has_is_read_from_the_configuration() {
        let text = "MailProg                = /usr/bin/mail\nMaxArraySize            = 101\nMaxBatchRequeue         = 5\n";
        assert_eq!(most_indices(text), Some(101));
        assert_eq!(most_indices("MaxJobCount = 10000\n"), None);
    }

    #[test]
    fn tasks_are_read_from_what_squeue_prints() {
        let waits = Task { number: 3, state: TaskState::Waiting("Resources".into()) };
        assert_eq!(task("3|PENDING||Resources|(null)"), Some(waits));
        let runs = Task { number: 12, state: TaskState::Running("n1".into()) };
        assert_eq!(task("12|RUNNING|n1|None|of the user | himself"), Some(runs));
        let beyond = Task { number: 2007, state: TaskState::Running("n1".into()) };
        assert_eq!(task("7|RUNNING|n1|None|plimsoll-first=2000"), Some(beyond));
        assert_eq!(task("7|RUNNING|n1|None|plimsoll-first=many"), None);
        assert_eq!(task("N/A|RUNNING|n1|None|(null)"), None);
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
        for (first, number) in [(0, "4"), (2000, "2004")] {
            let mut shell = Command::new("sh");
            shell.env("SLURM_ARRAY_TASK_ID", "4").env("SLURMD_NODENAME", "n1");
            let expected = format!("it's here|{number}|n1|");
            assert_eq!(output("sh", shell, &queue.script(first)).unwrap(), expected);
        }
    }
}
