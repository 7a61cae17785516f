//! By Kubernetes: its scheduler chooses the node, and what is driven and measured runs in a pod there.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::effect::word;
use crate::experiment::prelude::*;

/// Request to Kubernetes for a pod. Settings left out are as the user's configuration of kubectl, or the namespace's defaults, have them.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kubernetes {
    /// The image of the pod's container. It has a shell, and `plimsoll`, or `sha256sum`, `head` and `mktemp` to bring it along.
    pub image: String,
    /// The namespace of the pod.
    pub namespace: Option<String>,
    /// The context of kubectl's configuration: the cluster, and who one is there.
    pub context: Option<String>,
    /// Labels that the node has to have (`{ "kubernetes.io/hostname" = "n1" }`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Whether the pod has the node's network, and not one of its own behind the cluster's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub host_network: bool,
    /// Whether the container may do all that the node's root may: settings of the kernel, perf.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub privileged: bool,
    /// CPUs and memory that are the pod's alone (`{ cpu = "2", memory = "4Gi" }`): requests and limits at once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, String>,
    /// How long the pod may be there, 1 minute at least; Kubernetes ends it then. 24 hours where nothing is said.
    pub time_limit: Option<Span>,
    /// How long it may take until the pod runs; as long as it takes where nothing is said.
    pub start_within: Option<Span>,
}

/// Default lifetime of a pod, in seconds.
const LONGEST_S: u64 = 24 * 3600;
/// Of a time limit, in seconds.
const SHORTEST_LIMIT_S: u64 = 60;

impl Kubernetes {
    /// The options that say to kubectl where the pod is.
    pub fn words(&self) -> Vec<String> {
        let said = [("context", &self.context), ("namespace", &self.namespace)];
        said.into_iter().filter_map(|(key, value)| Some(format!("--{key}={}", value.as_deref()?))).collect()
    }

    /// The pod, as Kubernetes' API has it (v1, Pod). Its container only waits: agents are started in it.
    pub fn pod(&self, name: &str) -> Value {
        // At a signal to end, it ends at once; it is the first process, which no signal ends that it does not listen to.
        let waits = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"];
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": name, "labels": Self::labels() },
            "spec": self.spec(json!({ "command": waits })),
        })
    }

    /// The specification of a pod that runs this container (v1, PodSpec): its name, image and resources come from here.
    pub fn spec(&self, mut container: Value) -> Value {
        container["name"] = json!("host");
        container["image"] = json!(self.image);
        if self.privileged {
            container["securityContext"] = json!({ "privileged": true });
        }
        if !self.resources.is_empty() {
            container["resources"] = json!({ "requests": self.resources, "limits": self.resources });
        }
        let mut spec = json!({
            "restartPolicy": "Never",
            "activeDeadlineSeconds": self.time_limit.map_or(LONGEST_S, |limit| limit.0.as_secs()),
            "terminationGracePeriodSeconds": 5,
            "automountServiceAccountToken": false,
            "containers": [container],
        });
        if !self.node_selector.is_empty() {
            spec["nodeSelector"] = json!(self.node_selector);
        }
        if self.host_network {
            spec["hostNetwork"] = json!(true);
        }
        spec
    }

    /// Label of all objects of Plimsoll's.
    pub fn labels() -> BTreeMap<String, String> {
        BTreeMap::from([("app.kubernetes.io/managed-by".to_owned(), "plimsoll".to_owned())])
    }

    /// First senseless part, and the expected one.
    pub fn objection(&self) -> Option<(String, &'static str)> {
        let odd = |what: &str, value: &str| format!("{} is no {what}", word(value));
        if !is_plain(&self.image) {
            return Some((odd("image", &self.image), "a name such as \"registry.example/tools/plimsoll:1\""));
        }
        let said = [("namespace", &self.namespace), ("context", &self.context)];
        for (key, value) in said {
            if let Some(value) = value.as_deref().filter(|value| !is_plain(value)) {
                return Some((odd(key, value), "a word without blanks"));
            }
        }
        let labels = self.node_selector.iter().chain(&self.resources);
        if let Some((key, value)) = labels.into_iter().find(|(key, value)| !is_plain(key) || !is_plain(value))
        {
            return Some((odd("label or resource", &format!("{key}={value}")), "words without blanks"));
        }
        self.time_limit
            .is_some_and(|limit| limit.0.as_secs() < SHORTEST_LIMIT_S)
            .then(|| ("this time limit is too short".into(), "1 minute at least"))
    }

    /// The request in words, for the middle of a sentence: `Kubernetes (image tools, namespace lab, node disk=ssd)`.
    pub fn describe(&self) -> String {
        let mut text = format!("Kubernetes (image {}", word(&self.image));
        let mut add = |key: &str, value: &str| {
            // Writing to a string cannot fail.
            write!(text, ", {key} {}", word(value)).ok();
        };
        if let Some(namespace) = &self.namespace {
            add("namespace", namespace);
        }
        if let Some(context) = &self.context {
            add("context", context);
        }
        for (key, value) in &self.node_selector {
            add("node", &format!("{key}={value}"));
        }
        for (key, value) in &self.resources {
            add(key, value);
        }
        for (is_so, words) in [(self.host_network, "the node's network"), (self.privileged, "privileged")] {
            if is_so {
                text.push_str(", ");
                text.push_str(words);
            }
        }
        text.push(')');
        text
    }
}

/// A word that is one value on a command line of kubectl.
fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 1024
        && !word.starts_with('-')
        && !word.chars().any(|c| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Kubernetes {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_pod_has_what_was_asked_for_and_ends_by_itself_some_day() {
        let plain = asked("image = 'tools:1'").pod("plimsoll-1-db");
        assert_eq!(plain["metadata"]["name"], "plimsoll-1-db");
        assert_eq!(plain["spec"]["activeDeadlineSeconds"], 86_400);
        assert!(plain["spec"].get("nodeSelector").is_none() && plain["spec"].get("hostNetwork").is_none());
        let full = asked(
            "image = 'tools:1'\nnode_selector = { disk = 'ssd' }\nhost_network = true\nprivileged = true\n\
             resources = { cpu = '2' }\ntime_limit = '5m'",
        );
        let spec = &full.pod("p")["spec"];
        assert_eq!(spec["nodeSelector"]["disk"], "ssd");
        assert_eq!((&spec["hostNetwork"], &spec["activeDeadlineSeconds"]), (&json!(true), &json!(300)));
        let container = &spec["containers"][0];
        assert_eq!(container["securityContext"]["privileged"], true);
        assert_eq!(
            (&container["resources"]["limits"]["cpu"], &container["image"]),
            (&json!("2"), &json!("tools:1"))
        );
        assert_eq!(
            full.describe(),
            "Kubernetes (image tools:1, node disk=ssd, cpu 2, the node's network, privileged)"
        );
    }

    #[test]
    fn what_would_be_an_option_or_several_words_is_refused() {
        assert_eq!(asked("image = 'r.example/a/b:1'\nnamespace = 'lab'\ncontext = 'c'").objection(), None);
        for odd in [
            "image = ''",
            "image = '--overrides={}'",
            "image = 'a'\nnamespace = 'a b'",
            "image = 'a'\ncontext = '-x'",
            "image = 'a'\nnode_selector = { a = \"b\\nc\" }",
            "image = 'a'\ntime_limit = '59s'",
        ] {
            assert!(asked(odd).objection().is_some(), "{odd}");
        }
        assert_eq!(asked("image = 'a'\nnamespace = 'lab'").words(), ["--namespace=lab"]);
    }
}
