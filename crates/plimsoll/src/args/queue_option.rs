//! Where the trials of a run are carried out, when not here: `--on slurm:partition=main,at_once=4`.

use std::path::PathBuf;
use std::str::FromStr;

use plimsoll_model::experiment::{Kubernetes, Slurm};
use plimsoll_model::units::Span;

/// A queue, and what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueOption {
    /// Which queue it is.
    pub queue: QueueKind,
    /// The most blocks at once.
    pub at_once: Option<u32>,
    /// The folder in which tasks leave what they measure.
    pub folder: Option<PathBuf>,
}

/// The resources that each block of trials requests from a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Of Slurm.
    Slurm(Slurm),
    /// Of Kubernetes.
    Kubernetes {
        /// The pod.
        asked: Kubernetes,
        /// The claim of the volume that the folder is.
        claim: Option<String>,
        /// Whether other tasks may be on the node.
        shared: bool,
    },
}

/// Keys of `slurm:`.
const OF_SLURM: &str = "partition, constraint, account, qos, nodelist, time_limit, start_within, shared, option, at_once and folder, each as KEY=VALUE";
/// Keys of `kubernetes:`.
const OF_KUBERNETES: &str = "image, namespace, context, node_selector, host_network, privileged, resource, claim, time_limit, start_within, shared, at_once and folder, each as KEY=VALUE";

impl FromStr for QueueOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (queue, rest) = text.split_once(':').unwrap_or((text, ""));
        let (queue, keys) = match queue {
            "slurm" => (QueueKind::Slurm(Slurm::default()), OF_SLURM),
            "kubernetes" => {
                let asked = Kubernetes::default();
                (QueueKind::Kubernetes { asked, claim: None, shared: false }, OF_KUBERNETES)
            }
            _ => return Err(format!("`{queue}` is no queue; there are `slurm` and `kubernetes`")),
        };
        let mut on = Self { queue, at_once: None, folder: None };
        for (key, value) in pairs(rest, keys)? {
            if !on.take(&key, &value)? {
                return Err(format!("`{key}` is not known; there are {keys}"));
            }
        }
        match on.objection() {
            Some((what, expected)) => Err(format!("{what}: expected {expected}")),
            None => Ok(on),
        }
    }
}

impl QueueOption {
    /// How long it may take until something runs.
    pub fn start_within(&self) -> Option<Span> {
        match &self.queue {
            QueueKind::Slurm(asked) => asked.start_within,
            QueueKind::Kubernetes { asked, .. } => asked.start_within,
        }
    }

    /// Whether the key is known.
    fn take(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match key {
            "at_once" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                self.at_once =
                    Some(number.ok_or_else(|| format!("{key}={value}: expected a number from 1"))?);
                Ok(true)
            }
            "folder" => {
                self.folder = Some(value.into());
                Ok(true)
            }
            _ => self.queue.take(key, value),
        }
    }

    fn objection(&self) -> Option<(String, &'static str)> {
        match &self.queue {
            QueueKind::Slurm(asked) => asked.objection(),
            QueueKind::Kubernetes { asked, .. } if asked.image.is_empty() => {
                Some(("no image is given".into(), "`kubernetes:image=registry.example/tools/plimsoll:1`"))
            }
            QueueKind::Kubernetes { claim: Some(_), .. } if self.folder.is_none() => {
                Some(("a claim without a folder".into(), "folder=DIR, where its volume is seen here"))
            }
            QueueKind::Kubernetes { asked, .. } => asked.objection(),
        }
    }
}

impl QueueKind {
    fn take(&mut self, key: &str, value: &str) -> Result<bool, String> {
        match self {
            Self::Slurm(asked) => take_of_slurm(asked, key, value),
            Self::Kubernetes { claim, .. } if key == "claim" => {
                *claim = Some(value.to_owned());
                Ok(true)
            }
            Self::Kubernetes { shared, .. } if key == "shared" => {
                *shared = yes_or_no(key, value)?;
                Ok(true)
            }
            Self::Kubernetes { asked, .. } => take_of_kubernetes(asked, key, value),
        }
    }
}

fn take_of_slurm(asked: &mut Slurm, key: &str, value: &str) -> Result<bool, String> {
    let word = || Some(value.to_owned());
    match key {
        "partition" => asked.partition = word(),
        "constraint" => asked.constraint = word(),
        "account" => asked.account = word(),
        "qos" => asked.qos = word(),
        "nodelist" => asked.nodelist = word(),
        "time_limit" => asked.time_limit = Some(span(key, value)?),
        "start_within" => asked.start_within = Some(span(key, value)?),
        "shared" => asked.shared = yes_or_no(key, value)?,
        "option" => asked.options.push(value.to_owned()),
        _ => return Ok(false),
    }
    Ok(true)
}

fn take_of_kubernetes(asked: &mut Kubernetes, key: &str, value: &str) -> Result<bool, String> {
    let pair = || {
        let (key, value) =
            value.split_once('=').ok_or_else(|| format!("{key}={value}: expected {key}=NAME=VALUE"))?;
        Ok::<_, String>((key.to_owned(), value.to_owned()))
    };
    match key {
        "image" => asked.image = value.to_owned(),
        "namespace" => asked.namespace = Some(value.to_owned()),
        "context" => asked.context = Some(value.to_owned()),
        "node_selector" => asked.node_selector.extend([pair()?]),
        "resource" => asked.resources.extend([pair()?]),
        "host_network" => asked.host_network = yes_or_no(key, value)?,
        "privileged" => asked.privileged = yes_or_no(key, value)?,
        "time_limit" => asked.time_limit = Some(span(key, value)?),
        "start_within" => asked.start_within = Some(span(key, value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

fn yes_or_no(key: &str, value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("{key}={value}: expected true or false"))
}

fn span(key: &str, value: &str) -> Result<Span, String> {
    value.parse().map_err(|error| format!("{key}={value}: {error}"))
}

/// `a=1,b=2,3` has the values `1` of `a`, and `2,3` of `b`: Slurm has lists with commas.
fn pairs(text: &str, keys: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for piece in text.split(',').filter(|_| !text.is_empty()) {
        match (piece.split_once('='), pairs.last_mut()) {
            (Some((key, value)), _) => pairs.push((key.trim().to_owned(), value.to_owned())),
            (None, Some((_, value))) => *value += &format!(",{piece}"),
            (None, None) => return Err(format!("`{piece}`: expected {keys}")),
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn slurm(on: &QueueOption) -> &Slurm {
        match &on.queue {
            QueueKind::Slurm(asked) => asked,
            QueueKind::Kubernetes { .. } => panic!("{on:?}"),
        }
    }

    #[test]
    fn what_is_asked_of_slurm_stands_behind_its_name() {
        let on: QueueOption = "slurm".parse().unwrap();
        assert_eq!((slurm(&on), on.at_once), (&Slurm::default(), None));
        let text = "slurm:partition=short,long,time_limit=2h,option=--gres=nic:1,option=--mem=0,at_once=4,folder=/scratch/me,shared=true";
        let on: QueueOption = text.parse().unwrap();
        assert_eq!(slurm(&on).partition.as_deref(), Some("short,long"));
        assert_eq!(slurm(&on).time_limit, Some(Span::secs(7200)));
        assert_eq!(slurm(&on).options, ["--gres=nic:1", "--mem=0"]);
        assert_eq!((on.at_once, &on.folder), (Some(4), &Some("/scratch/me".into())));
        assert!(slurm(&on).shared);
    }

    #[test]
    fn what_is_asked_of_kubernetes_stands_behind_its_name() {
        let text = "kubernetes:image=r.example/tools:1,node_selector=disk=ssd,resource=cpu=2,resource=memory=4Gi,claim=results,folder=/results,privileged=true";
        let on: QueueOption = text.parse().unwrap();
        let QueueKind::Kubernetes { asked, claim, shared } = &on.queue else { panic!("{on:?}") };
        assert_eq!((asked.image.as_str(), asked.privileged), ("r.example/tools:1", true));
        assert_eq!(asked.node_selector["disk"], "ssd");
        assert_eq!((asked.resources["cpu"].as_str(), asked.resources["memory"].as_str()), ("2", "4Gi"));
        assert_eq!(
            (claim.as_deref(), *shared, on.folder.as_deref()),
            (Some("results"), false, Some(Path::new("/results")))
        );
        assert_eq!(on.start_within(), None);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let cases = [
            ("pbs", "`pbs` is no queue"),
            ("slurm:main", "`main`: expected partition"),
            ("slurm:queue=main", "`queue` is not known"),
            ("slurm:at_once=0", "expected a number from 1"),
            ("slurm:time_limit=5s", "too short"),
            ("slurm:start_within=soon", "start_within=soon"),
            ("slurm:partition=a b", "is no partition of Slurm"),
            ("kubernetes", "no image is given"),
            ("kubernetes:image=a,partition=b", "`partition` is not known; there are image"),
            ("kubernetes:image=a,claim=b", "a claim without a folder"),
            ("kubernetes:image=a,resource=cpu", "expected resource=NAME=VALUE"),
            ("kubernetes:image=a,privileged=1", "expected true or false"),
            ("kubernetes:image=a b", "is no image"),
        ];
        for (text, expected) in cases {
            let error = text.parse::<QueueOption>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
