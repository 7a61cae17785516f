//! Captured packets: the files, and what was found in them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Arm, PhaseRecord};
use crate::trace::Class;

/// The file of one interface's capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapturedFile {
    /// The interface.
    pub interface: String,
    /// The file: a path, in a record relative to the folder of the file of runs.
    pub file: String,
    /// Packets in it.
    pub packets: u64,
    /// Packets that found no room in the kernel's ring, and are missing in the file.
    pub dropped: u64,
    /// CPU time of the capturing thread, in microseconds.
    pub cpu_us: u64,
    /// The error; the file then ends early, or is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The packets of one interface in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureRecord {
    /// The rig.
    pub arm: Arm,
    /// The host.
    pub host: String,
    /// The file.
    pub file: CapturedFile,
    /// Summary of the packets; absent where the file could not be read.
    pub traffic: Option<Traffic>,
}

/// Connections and stalls of a capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// TCP connections.
    pub connections: u64,
    /// The sum of their lifetimes, in seconds.
    pub lifetime_s: f64,
    /// Stalls by class, the greatest first.
    pub stalls: Vec<ClassTime>,
    /// Time in stalls of other classes that packets alone cannot distinguish from each of these, in seconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub may_be_s: BTreeMap<Class, f64>,
}

/// The stalls of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassTime {
    /// The class.
    pub class: Class,
    /// How long they took together, in seconds.
    pub time_s: f64,
    /// How many there were, as far as they are listed.
    pub count: u64,
    /// The median of their lengths, in milliseconds.
    pub median_ms: f64,
    /// Evidence in the packets for the longest of them.
    pub evidence: String,
}

impl PhaseRecord {
    /// The share of the connections' time in which there was something to send and nothing went. Absent where no
    /// connection was captured.
    pub fn stall_share(&self, arm: Arm) -> Option<f64> {
        let of_arm = self.captures.iter().filter(|capture| capture.arm == arm);
        let traffic: Vec<&Traffic> = of_arm.filter_map(|capture| capture.traffic.as_ref()).collect();
        let lifetime: f64 = traffic.iter().map(|traffic| traffic.lifetime_s).sum();
        let held_up = traffic.iter().flat_map(|traffic| &traffic.stalls).filter(|of| of.class.held_up());
        let held_up: f64 = held_up.map(|of| of.time_s).sum();
        (lifetime > 0.0).then(|| (held_up / lifetime).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::PhaseKind;

    fn phase(stalls: &[(Class, f64)]) -> PhaseRecord {
        let stalls = stalls.iter().map(|&(class, time_s)| ClassTime {
            class,
            time_s,
            count: 1,
            median_ms: time_s * 1e3,
            evidence: String::new(),
        });
        let traffic =
            Traffic { connections: 2, lifetime_s: 10.0, stalls: stalls.collect(), ..Traffic::default() };
        let file = CapturedFile::default();
        let capture =
            CaptureRecord { arm: Arm::Treatment, host: "client".into(), file, traffic: Some(traffic) };
        PhaseRecord {
            name: "all".into(),
            kind: PhaseKind::Measure,
            cycle: 0,
            rung: None,
            start_ns: 0,
            end_ns: 1,
            slices: Vec::new(),
            events: Vec::new(),
            notes: Vec::new(),
            captures: vec![capture],
            profiles: Vec::new(),
        }
    }

    #[test]
    fn only_time_in_which_somebody_was_held_up_counts() {
        let mixed = phase(&[(Class::DelayedAck, 4.0), (Class::ClientIdle, 5.0), (Class::Rto, 0.5)]);
        assert_eq!(mixed.stall_share(Arm::Treatment), Some(0.45));
        assert_eq!(mixed.stall_share(Arm::Control), None);
    }

    #[test]
    fn a_connection_that_never_stood_still_has_a_share_that_can_be_compared() {
        assert_eq!(phase(&[]).stall_share(Arm::Treatment), Some(0.0));
    }
}
