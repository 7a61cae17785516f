//! Kubernetes: `kubectl` makes a Job for each task, looks after them by their labels, and removes them.
//!
//! Each task has a Job of its own in place of an indexed one: so tasks fail independently in any version (`backoffLimitPerIndex` is of 1.33).

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

use nix::unistd::{getegid, geteuid};
use plimsoll_model::experiment::Kubernetes;
use serde_json::{Value, json};

use super::{KUBECTL, Queue, QueueError, Task, TaskState, Work, output};

/// Label with the name of the run's tasks.
const RUN: &str = "plimsoll-run";
/// The label with the number of a task.
const TASK: &str = "plimsoll-task";
/// Environment variable with the node's name.
const NODE: &str = "PLIMSOLL_NODE";
/// Seconds for which a task stays on an unreachable node; the cluster's default is mostly 300.
const UNREACHABLE_S: u32 = 30;
/// Seconds for which Kubernetes keeps an ended Job.
const KEPT_S: u32 = 3600;
/// Conditions of a Job that has ended, or ends with its pod (batch/v1, JobConditionType).
const OVER: [&str; 4] = ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"];
/// Shell script that redirects a task's output and becomes the program.
const SCRIPT: &str = r#"exec "$@" >>"$0" 2>&1"#;

/// Tasks of a run as Jobs of Kubernetes.
#[derive(Clone, Debug)]
pub struct KubernetesQueue {
    /// The resources requested for each task.
    pub asked: Kubernetes,
    /// Folder with the same path in pods and for the submitter.
    pub folder: PathBuf,
    /// Claim of the folder's volume; by default the folder of that path on each node.
    pub claim: Option<String>,
    /// Whether two tasks may be on one node.
    pub shared: bool,
    /// The most tasks at once; by default as many as there are nodes.
    pub at_once: Option<u32>,
    /// The submitted program.
    pub work: Work,
}

impl Queue for KubernetesQueue {
    fn submit(&self, numbers: &[u32]) -> Result<(), QueueError> {
        let jobs: Vec<Value> = numbers.iter().map(|number| self.job(*number)).collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": jobs });
        // The server validates it, as it knows its version.
        let command = self.kubectl(&["create", "--validate=false", "--filename=-"]);
        output(KUBECTL, command, &list.to_string()).map(drop)
    }

    fn tasks(&self) -> Result<Vec<Task>, QueueError> {
        let listed =
            output(KUBECTL, self.kubectl(&["get", "jobs,pods", "--output=json", &self.selector()]), "")?;
        tasks(&listed).map_err(|error| QueueError::Failed {
            program: KUBECTL,
            words: format!("its answer about jobs and pods is not understood: {error}"),
        })
    }

    fn cancel(&self) -> Result<(), QueueError> {
        let words = ["delete", "jobs", "--cascade=background", "--wait=false", "--ignore-not-found"];
        output(KUBECTL, self.kubectl(&[&words[..], &[&self.selector()]].concat()), "").map(drop)
    }

    fn at_once(&self) -> Option<u32> {
        self.at_once
    }

    fn forget_ended(&self) -> Result<(), QueueError> {
        self.cancel()
    }
}

impl KubernetesQueue {
    fn kubectl(&self, words: &[&str]) -> Command {
        let mut command = Command::new(KUBECTL);
        command.args(self.asked.words()).args(words);
        command
    }

    fn selector(&self) -> String {
        format!("--selector={RUN}={}", self.work.name)
    }

    /// A task (batch/v1, Job). It runs once: the controller submits lost tasks again.
    fn job(&self, number: u32) -> Value {
        let mut labels = Kubernetes::labels();
        labels.extend([(RUN.to_owned(), self.work.name.clone()), (TASK.to_owned(), number.to_string())]);
        let unlike = crate::clock::raw_ns() % 100_000_000;
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": format!("{}-{number}-{unlike:08}", self.work.name), "labels": labels },
            "spec": {
                "backoffLimit": 0,
                "ttlSecondsAfterFinished": KEPT_S,
                "template": { "metadata": { "labels": labels }, "spec": self.spec(number) },
            },
        })
    }

    fn spec(&self, number: u32) -> Value {
        let messages = self.work.messages.join(format!("task-{number}.txt")).display().to_string();
        let said = self.work.command.iter().cloned().chain([number.to_string()]);
        let said = ["/bin/sh", "-c", SCRIPT].map(ToOwned::to_owned).into_iter().chain([messages]).chain(said);
        // In the words of a command `$(NAME)` stands for a variable, and `$$` for `$`.
        let command: Vec<String> =
            said.map(|word| word.replace('$', "$$")).chain([format!("$({NODE})")]).collect();
        let node = json!({ "name": NODE, "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } });
        let folder = self.folder.display().to_string();
        let mut spec = self.asked.spec(json!({
            "command": command,
            "env": [node],
            "volumeMounts": [{ "name": "shared", "mountPath": folder }],
        }));
        let source = match &self.claim {
            Some(claim) => ("persistentVolumeClaim", json!({ "claimName": claim })),
            None => ("hostPath", json!({ "path": folder, "type": "Directory" })),
        };
        spec["volumes"] = json!([{ "name": "shared", source.0: source.1 }]);
        // The submitter owns its files, and removes them in the end.
        spec["securityContext"] =
            json!({ "runAsUser": geteuid().as_raw(), "runAsGroup": getegid().as_raw() });
        let leaves = |key: &str| json!({ "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": UNREACHABLE_S });
        spec["tolerations"] =
            json!([leaves("node.kubernetes.io/not-ready"), leaves("node.kubernetes.io/unreachable")]);
        if !self.shared {
            // Never on a node with another task, of any user.
            let others = json!({
                "labelSelector": { "matchExpressions": [{ "key": TASK, "operator": "Exists" }] },
                "topologyKey": "kubernetes.io/hostname",
                "namespaceSelector": {},
            });
            spec["affinity"] =
                json!({ "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [others] } });
        }
        spec
    }
}

/// The unfinished tasks in a list of Jobs and pods.
fn tasks(listed: &str) -> Result<Vec<Task>, serde_json::Error> {
    let listed: Value = serde_json::from_str(listed)?;
    let (jobs, pods): (Vec<&Value>, Vec<&Value>) =
        each(&listed["items"]).partition(|object| object["kind"] == "Job");
    let pods: HashMap<&str, &Value> = pods
        .into_iter()
        .filter_map(|pod| Some((pod["metadata"]["ownerReferences"][0]["name"].as_str()?, pod)))
        .collect();
    let task = |job: &Value| {
        let number = job["metadata"]["labels"][TASK].as_str()?.parse().ok()?;
        if is_over(job) {
            return None;
        }
        let state = match pods.get(text(&job["metadata"]["name"])) {
            Some(pod) => state(pod)?,
            None => TaskState::Waiting(String::new()),
        };
        Some(Task { number, state })
    };
    Ok(jobs.into_iter().filter_map(task).collect())
}

/// Whether a Job has ended.
fn is_over(job: &Value) -> bool {
    let is_end = |one: &Value| one["status"] == "True" && OVER.contains(&text(&one["type"]));
    is_removed(job) || each(&job["status"]["conditions"]).any(is_end)
}

fn is_removed(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// State of a pod; `None` if it has ended or is being removed, as after the loss of its node.
fn state(pod: &Value) -> Option<TaskState> {
    match text(&pod["status"]["phase"]) {
        "Succeeded" | "Failed" => None,
        _ if is_removed(pod) => None,
        "Running" => Some(TaskState::Running(text(&pod["spec"]["nodeName"]).to_owned())),
        _ => Some(TaskState::Waiting(why_it_waits(&pod["status"]))),
    }
}

fn why_it_waits(status: &Value) -> String {
    let mut waiting = each(&status["containerStatuses"]).map(|it| &it["state"]["waiting"]);
    if let Some(waiting) = waiting.find(|waiting| !waiting.is_null()) {
        return match (text(&waiting["reason"]), text(&waiting["message"])) {
            (reason, "") => reason.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        };
    }
    let unmet = each(&status["conditions"]).filter(|it| it["status"] == "False");
    unmet.map(|it| text(&it["message"])).find(|message| !message.is_empty()).unwrap_or_default().to_owned()
}

/// The members of a list; empty if a part is missing.
fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> KubernetesQueue {
        KubernetesQueue {
            asked: Kubernetes {
                image: "tools:1".into(),
                namespace: Some("lab".into()),
                ..Kubernetes::default()
            },
            folder: "/shared".into(),
            claim: None,
            shared: false,
            at_once: None,
            work: Work {
                name: "plimsoll-a".into(),
                command: ["/shared/a/plimsoll-1", "task", "/shared/$(x)"].map(ToOwned::to_owned).into(),
                messages: "/shared/a/messages".into(),
            },
        }
    }

    #[test]
    fn a_job_is_tried_once_and_no_other_is_beside_it() {
        let job = queue().job(3);
        assert!(job["metadata"]["name"].as_str().unwrap().starts_with("plimsoll-a-3-"), "{job}");
        assert_eq!(job["spec"]["backoffLimit"], 0);
        let template = &job["spec"]["template"];
        assert_eq!(
            (&template["metadata"]["labels"][RUN], &template["metadata"]["labels"][TASK]),
            (&json!("plimsoll-a"), &json!("3"))
        );
        let spec = &template["spec"];
        let words = spec["containers"][0]["command"].as_array().unwrap();
        let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(
            words[3..],
            [
                "/shared/a/messages/task-3.txt",
                "/shared/a/plimsoll-1",
                "task",
                "/shared/$$(x)",
                "3",
                "$(PLIMSOLL_NODE)"
            ]
        );
        assert_eq!(words[2], r#"exec "$$@" >>"$$0" 2>&1"#, "Kubernetes takes the first of two");
        assert!(spec["affinity"]["podAntiAffinity"].is_object());
        assert_eq!(spec["volumes"][0]["hostPath"]["path"], "/shared");
        let shared = KubernetesQueue { shared: true, claim: Some("results".into()), ..queue() };
        let spec = &shared.job(3)["spec"]["template"]["spec"];
        assert!(spec.get("affinity").is_none());
        assert_eq!(spec["volumes"][0]["persistentVolumeClaim"]["claimName"], "results");
        assert_eq!(spec["containers"][0]["volumeMounts"][0]["mountPath"], "/shared");
    }

    /// Tasks in a list with the Job of task 3, and its pod, if any.
    fn tasks_of(job: &Value, pod: Option<Value>) -> Vec<Task> {
        let metadata = json!({ "name": "j", "labels": { TASK: "3" } });
        let mut items = vec![json!({ "kind": "Job", "metadata": metadata, "status": job })];
        items.extend(pod.map(|mut pod| {
            pod["kind"] = json!("Pod");
            pod["metadata"]["ownerReferences"] = json!([{ "name": "j" }]);
            pod
        }));
        tasks(&json!({ "items": items }).to_string()).unwrap()
    }

    #[test]
    fn tasks_are_read_from_jobs_and_their_pods() {
        let waits = |why: &str| vec![Task { number: 3, state: TaskState::Waiting(why.into()) }];
        assert_eq!(tasks_of(&json!({}), None), waits(""));
        let pod = |status: Value| Some(json!({ "spec": { "nodeName": "n1" }, "status": status }));
        let unscheduled =
            json!({ "type": "PodScheduled", "status": "False", "message": "0/3 nodes are available" });
        let unscheduled = json!({ "phase": "Pending", "conditions": [unscheduled] });
        assert_eq!(tasks_of(&json!({}), pod(unscheduled)), waits("0/3 nodes are available"));
        let pulling =
            json!([{ "state": { "waiting": { "reason": "ErrImagePull", "message": "not found" } } }]);
        let pulling = json!({ "phase": "Pending", "containerStatuses": pulling });
        assert_eq!(tasks_of(&json!({}), pod(pulling)), waits("ErrImagePull: not found"));
        let running = Task { number: 3, state: TaskState::Running("n1".into()) };
        assert_eq!(tasks_of(&json!({}), pod(json!({ "phase": "Running" }))), [running]);
    }

    #[test]
    fn a_task_is_gone_that_has_ended_or_whose_node_is_lost() {
        for phase in ["Succeeded", "Failed"] {
            assert_eq!(tasks_of(&json!({}), Some(json!({ "status": { "phase": phase } }))), [], "{phase}");
        }
        for over in OVER {
            let job = |status: &str| json!({ "conditions": [{ "type": over, "status": status }] });
            assert_eq!(tasks_of(&job("True"), None), [], "{over}");
            assert_eq!(tasks_of(&job("False"), None).len(), 1, "{over}");
        }
        let going = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" }, "status": { "phase": "Running" } });
        assert_eq!(tasks_of(&json!({}), Some(going)), []);
        assert!(tasks("no JSON").is_err());
    }
}
