//! Filling a disk.

use super::{ActionPlace, ActionType};
use crate::experiment::Experiment;
use crate::experiment::prelude::*;

/// A disk to fill: with a file without a name, which is gone when the host is, or when a later step takes it away with `size = 0`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FillDisk {
    /// The volume, which holds files. Give this or `scratch`.
    pub volume: Option<String>,
    /// The host, of whose services the folder for their files (`{scratch}`) is filled.
    pub scratch: Option<String>,
    /// Size of the file. Give this or `share`.
    pub size: Option<ByteSize>,
    /// Share of the file system that is then in use, what is there already with it (more than 0, at most 1). Only of a `loop` volume,
    /// which nobody else uses.
    pub share: Option<Share>,
}

impl FillDisk {
    /// How full, in words.
    fn extent(&self) -> String {
        match (self.size, self.share) {
            (Some(ByteSize(0)), _) => "with nothing any more".to_owned(),
            (Some(size), _) => format!("with {size}"),
            (_, Some(share)) => format!("up to {share}"),
            _ => String::new(),
        }
    }

    fn what(&self) -> String {
        match (&self.volume, &self.scratch) {
            (Some(volume), _) => format!("volume {volume}"),
            (_, Some(host)) => format!("scratch folder of {host}"),
            _ => String::new(),
        }
    }
}

impl ActionType for FillDisk {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        let here = || [at.at.as_slice(), &path!["fill"]].concat();
        match (&self.volume, &self.scratch) {
            (Some(volume), None) => {
                declared(volume, &at.experiment.volumes, "volume", at.key("fill", "volume"))?;
                if !at.experiment.volumes[volume].has_files() {
                    let message = format!("the volume `{volume}` holds no files");
                    let expected = "a `folder`, or a `loop` with a `filesystem`";
                    return Err(problem(at.key("fill", "volume"), message, expected));
                }
            }
            (None, Some(host)) => {
                declared(host, &at.experiment.hosts, "host", at.key("fill", "scratch"))?;
                if at.experiment.is_remote() {
                    let message = format!(
                        "`{host}` is an existing machine: its disk would be filled for all its users"
                    );
                    let expected = "a host of kind \"namespace\" or \"vm\"";
                    return Err(problem(at.key("fill", "scratch"), message, expected));
                }
            }
            _ => {
                let expected = "either `volume`, or `scratch` with a host";
                return Err(problem(here(), "the target of the fill is missing", expected));
            }
        }
        match (self.size, self.share) {
            (Some(_), None) => Ok(()),
            (None, Some(share)) => {
                if !(share.0 > 0.0 && share.0 <= 1.0) {
                    let expected = "a share of more than 0 and at most 1";
                    return Err(problem(
                        at.key("fill", "share"),
                        format!("{share} is out of range"),
                        expected,
                    ));
                }
                let volume = self.volume.as_ref().map(|volume| &at.experiment.volumes[volume]);
                if volume.is_none_or(|volume| volume.image.is_none()) {
                    let message = "a share of a shared disk would take space from its other users";
                    return Err(problem(at.key("fill", "share"), message, "`size`, or a `loop` volume"));
                }
                Ok(())
            }
            _ => Err(problem(here(), "it must be said how full", "either `size` or `share`")),
        }
    }

    fn describe(&self) -> String {
        format!("fill {} {}", self.what(), self.extent())
    }

    fn host<'e>(&'e self, experiment: &'e Experiment) -> Option<&'e str> {
        match (&self.volume, &self.scratch) {
            (Some(volume), _) => Some(&experiment.volumes.get(volume)?.on),
            (_, host) => host.as_deref(),
        }
    }

    fn effects(&self, by: &str) -> Vec<Effect> {
        let what = format!("the {} is filled {}, until the trial is over", self.what(), self.extent());
        vec![Effect::new(EffectKind::Writes, by.to_owned(), what)]
    }
}
