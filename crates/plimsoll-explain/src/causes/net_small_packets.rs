//! `net.small_packets`: The same data goes in more packets.

use plimsoll_model::cause::{Cause, CauseEvidence, CauseId};
use plimsoll_model::report::Evidence;

use super::{Definition, Known, Page, by_functions, by_levels, cause, quoted};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "several times as many packets for each operation carry as many bytes, and the kernel's CPU time grows",
        evidence_against: "bytes grow as packets do. The packets are few, or the added time is no CPU time",
        test: "compare `ethtool -k`, `ip link` (MTU) and `ss -ti` (mss) on both sides. Switch segmentation offload on, or raise the MTU, and measure again",
        remedy: "segmentation offload (TSO, GSO), a larger MTU, or larger writes of the program",
    },
    find,
)
.where_nothing_else_fits()
.beyond_the_run();

const ID: CauseId = CauseId::NetSmallPackets;
/// Packets of IP, where one that the device or a later layer cuts counts once; and segments of TCP, where each counts.
const PACKETS: [&str; 2] = ["snmp.Ip.OutRequests", "snmp.Ip6.OutRequests"];
const SEGMENTS: [&str; 2] = ["snmp.Tcp.OutSegs", "netstat.TcpExt.TCPOrigDataSent"];
const BYTES: [&str; 2] = ["netstat.IpExt.OutOctets", "snmp.Ip6.OutOctets"];
/// How many times as many packets there are for each byte, and the fewest for each run of a command, and for each operation or megabyte of a load.
const TIMES: f64 = 3.0;
const LEAST: [f64; 2] = [1000.0, 100.0];
const SMALL_SEGMENTS: &str = "each segment carries less (MTU, MSS, or small writes)";
/// From this factor on segments grew as well.
const ALSO: f64 = 1.5;

fn find(known: &Known<'_>) -> Vec<Cause> {
    if !by_functions::explains_all(known) {
        return Vec::new();
    }
    let least = if known.took_us.is_some() { LEAST[0] } else { LEAST[1] };
    by_layers(known, least).or_else(|| by_devices(known, least)).into_iter().collect()
}

/// More IP packets for as many bytes.
fn by_layers(known: &Known<'_>, least: f64) -> Option<Cause> {
    let bytes = most(known, &BYTES).map_or(1.0, ratio);
    let packets =
        most(known, &PACKETS).filter(|it| it.after >= least && ratio(it) >= TIMES * bytes.max(1.0))?;
    Some(of_packets(known, quoted(packets)))
}

/// More packets of network devices for as many bytes: the kernel cuts segments in software where a device lacks offload. `lo` leads to no device.
fn by_devices(known: &Known<'_>, least: f64) -> Option<Cause> {
    let of = |count| by_levels::of_all_devices(("dev.", count), Some("lo"), known.evidence);
    let [packets, bytes] = ["tx_packets", "tx_bytes"].map(of);
    let grew = |[before, after]: [f64; 2]| after / before.max(1.0);
    // Each packet has headers of its own.
    let is_cut = packets[1] >= least && grew(packets) >= TIMES * grew(bytes).max(1.0);
    let count = CauseEvidence {
        metric: "packets sent by network devices".to_owned(),
        before: packets[0],
        after: packets[1],
        unit: "count".to_owned(),
    };
    is_cut.then(|| of_packets(known, count))
}

/// The cause, with whether segments grew as well: a program that writes less at a time makes smaller packets, too.
fn of_packets(known: &Known<'_>, packets: CauseEvidence) -> Cause {
    let segments = most(known, &SEGMENTS).filter(|it| ratio(it) >= ALSO);
    let (sure, why) = match segments {
        None => (0.75, "the kernel no longer hands on many segments at once (TSO, GSO)"),
        // Loads of a run write as before.
        Some(_) if known.took_us.is_none() => (0.65, SMALL_SEGMENTS),
        Some(_) => (0.55, SMALL_SEGMENTS),
    };
    let evidence = std::iter::once(packets).chain(segments.map(quoted)).collect();
    Cause { title: format!("{}: {why}", ID.title()), ..cause(ID, sure, evidence) }
}

/// The figure of these names that grew most.
fn most<'k>(known: &Known<'k>, names: &[&str]) -> Option<&'k Evidence> {
    let all = known.evidence.iter().filter(|it| names.contains(&by_levels::name(it)));
    all.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

fn ratio(of: &Evidence) -> f64 {
    of.after / of.before.max(1.0)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::report::{ProfileReport, ProfileSide};

    use super::super::fixture::{grew, profile};
    use super::super::named;
    use super::*;

    #[test]
    fn more_packets_for_as_many_bytes_are_named_with_whether_segments_grew() {
        let of = |figures: &[(&str, f64, f64)]| {
            let evidence: Vec<Evidence> = figures
                .iter()
                .map(|(name, before, after)| grew("here", &format!("{name} (per run)"), *before, *after))
                .collect();
            let before = profile().before;
            let after =
                ProfileSide { cpu_us: before.cpu_us + 9e5, kernel_us: before.kernel_us + 9e5, ..before };
            let profile = ProfileReport { after, grew: true, ..profile() };
            let took_us = Some((1e6, 2e6));
            let known = Known { profile: Some(&profile), evidence: &evidence, took_us, ..Known::default() };
            named(&known).into_iter().find(|cause| cause.id == ID).map(|cause| cause.title)
        };
        let packets = ("snmp.Ip.OutRequests", 18_000.0, 725_000.0);
        assert!(of(&[packets]).unwrap().contains("GSO"));
        assert!(of(&[packets, ("snmp.Tcp.OutSegs", 18_000.0, 725_000.0)]).unwrap().contains("MTU"));
        assert_eq!(of(&[packets, ("netstat.IpExt.OutOctets", 1e8, 4e9)]), None, "as many more bytes");
        assert_eq!(of(&[("snmp.Ip.OutRequests", 20.0, 300.0)]), None, "few packets");
        let devices = [("dev.a1.tx_packets", 18_000.0, 0.0), ("dev.a2.tx_packets", 0.0, 725_000.0)];
        let bytes = [("dev.a1.tx_bytes", 1e9, 0.0), ("dev.a2.tx_bytes", 0.0, 1.05e9)];
        assert!(of(&[devices, bytes].concat()).unwrap().contains("GSO"));
        let more = [("dev.a1.tx_bytes", 1e9, 0.0), ("dev.a2.tx_bytes", 0.0, 40e9)];
        assert_eq!(of(&[devices, more].concat()), None, "as many more bytes");
        assert_eq!(of(&[("dev.lo.tx_packets", 18_000.0, 725_000.0)]), None, "of no device of its own");
    }
}
