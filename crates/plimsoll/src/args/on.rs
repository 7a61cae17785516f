//! Where the trials of a run are carried out, when not here: `--on slurm:partition=main,at_once=4`.

use std::path::PathBuf;
use std::str::FromStr;

use plimsoll_model::experiment::Slurm;
use plimsoll_model::units::Span;

/// A queue, and what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct On {
    /// What is asked of Slurm for each block of trials.
    pub slurm: Slurm,
    /// So many blocks at once at the most.
    pub at_once: Option<u32>,
    /// The folder in which tasks leave what they measure.
    pub folder: Option<PathBuf>,
}

/// What may stand behind the name of the queue.
const KEYS: &str = "partition, constraint, account, qos, nodelist, time_limit, start_within, shared, option, at_once and folder, each as KEY=VALUE";

impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (queue, rest) = text.split_once(':').unwrap_or((text, ""));
        if queue != "slurm" {
            return Err(format!("`{queue}` is no queue; there is `slurm`"));
        }
        let mut on = Self { slurm: Slurm::default(), at_once: None, folder: None };
        for (key, value) in pairs(rest)? {
            on.take(&key, value)?;
        }
        match on.slurm.objection() {
            Some((what, expected)) => Err(format!("{what}: expected {expected}")),
            None => Ok(on),
        }
    }
}

impl On {
    fn take(&mut self, key: &str, value: String) -> Result<(), String> {
        let asked = &mut self.slurm;
        match key {
            "partition" => asked.partition = Some(value),
            "constraint" => asked.constraint = Some(value),
            "account" => asked.account = Some(value),
            "qos" => asked.qos = Some(value),
            "nodelist" => asked.nodelist = Some(value),
            "time_limit" => asked.time_limit = Some(span(key, &value)?),
            "start_within" => asked.start_within = Some(span(key, &value)?),
            "shared" => {
                asked.shared = value.parse().map_err(|_| format!("{key}={value}: expected true or false"))?;
            }
            "option" => asked.options.push(value),
            "at_once" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                self.at_once =
                    Some(number.ok_or_else(|| format!("{key}={value}: expected a number from 1"))?);
            }
            "folder" => self.folder = Some(value.into()),
            _ => return Err(format!("`{key}` is not known; there are {KEYS}")),
        }
        Ok(())
    }
}

fn span(key: &str, value: &str) -> Result<Span, String> {
    value.parse().map_err(|error| format!("{key}={value}: {error}"))
}

/// `a=1,b=2,3` is what stands behind `a`, and `2,3` behind `b`: Slurm has lists with commas.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for piece in text.split(',').filter(|_| !text.is_empty()) {
        match (piece.split_once('='), pairs.last_mut()) {
            (Some((key, value)), _) => pairs.push((key.trim().to_owned(), value.to_owned())),
            (None, Some((_, value))) => *value += &format!(",{piece}"),
            (None, None) => return Err(format!("`{piece}`: expected {KEYS}")),
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_of_slurm_stands_behind_its_name() {
        let on: On = "slurm".parse().unwrap();
        assert_eq!((on.slurm, on.at_once), (Slurm::default(), None));
        let text = "slurm:partition=short,long,time_limit=2h,option=--gres=nic:1,option=--mem=0,at_once=4,folder=/scratch/me,shared=true";
        let on: On = text.parse().unwrap();
        assert_eq!(on.slurm.partition.as_deref(), Some("short,long"));
        assert_eq!(on.slurm.time_limit, Some(Span::secs(7200)));
        assert_eq!(on.slurm.options, ["--gres=nic:1", "--mem=0"]);
        assert_eq!((on.at_once, on.folder, on.slurm.shared), (Some(4), Some("/scratch/me".into()), true));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let cases = [
            ("pbs", "`pbs` is no queue"),
            ("slurm:main", "`main`: expected partition"),
            ("slurm:queue=main", "`queue` is not known"),
            ("slurm:at_once=0", "expected a number from 1"),
            ("slurm:time_limit=5s", "too short"),
            ("slurm:start_within=soon", "start_within=soon"),
            ("slurm:partition=a b", "is no partition of Slurm"),
        ];
        for (text, expected) in cases {
            let told = text.parse::<On>().unwrap_err();
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
