//! One TCP exchange in every encapsulation, made by Scapy with `tests/tunnels/make.py`: the same packets are read from each.

use std::fs;
use std::path::Path;

use plimsoll_import::packets::read;
use plimsoll_model::packet::{CaptureSummary, Packet, Transport};

fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tunnels").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn packets(bytes: &[u8]) -> (Vec<Packet>, CaptureSummary) {
    let mut packets = Vec::new();
    let summary = read(bytes, |packet| packets.push(*packet)).expect("the file is readable");
    (packets, summary)
}

/// Packets of the exchange, without the length that outer headers change.
fn inner(bytes: &[u8]) -> Vec<Packet> {
    let (packets, summary) = packets(bytes);
    assert_eq!(summary.missing, [""; 0]);
    packets.into_iter().map(|packet| Packet { wire_bytes: 0, ..packet }).collect()
}

#[test]
fn the_same_exchange_is_read_from_every_encapsulation() {
    let plain = inner(&bytes("plain.pcap"));
    assert_eq!(plain.len(), 4);
    let names = [
        "qinq",
        "pppoe",
        "mpls",
        "pseudowire",
        "snap",
        "gre",
        "gre-options",
        "gre-ethernet",
        "erspan-2",
        "erspan-3",
        "vxlan",
        "geneve",
        "gtp",
        "gtp-extension",
        "ipip",
        "4in6",
        "mpls-in-ip",
        "ppp",
        "ppp-short",
        "hdlc",
        "wifi",
        "wifi-qos",
        "radiotap",
        "nflog",
        "nflog-be",
    ];
    for name in names {
        assert_eq!(inner(&bytes(&format!("{name}.pcap"))), plain, "{name}");
    }
}

#[test]
fn gzip_and_zstd_are_unpacked_part_by_part() {
    let plain = inner(&bytes("plain.pcap"));
    for name in ["plain.pcap.gz", "plain.pcap.zst"] {
        assert_eq!(inner(&bytes(name)), plain, "{name}");
    }
}

#[test]
fn compressed_data_that_is_cut_is_read_up_to_there() {
    for name in ["plain.pcap.gz", "plain.pcap.zst"] {
        let whole = bytes(name);
        let (packets, summary) = packets(&whole[..whole.len() - 20]);
        assert!(packets.len() < 4, "{name}: {}", packets.len());
        assert!(summary.missing.iter().any(|missing| missing.contains("is cut or damaged")), "{summary:?}");
    }
}

#[test]
fn protocols_that_may_hide_tcp_are_named_and_others_are_not() {
    let (seen, summary) = packets(&bytes("hidden.pcap"));
    assert_eq!(seen.len(), 4);
    let expected = [
        "1 packet in MACsec, which is not decoded here",
        "2 packets in ESP (encrypted), which is not decoded here",
        "1 packet in GRE with protocol 0x1234, which is not decoded here",
    ];
    assert_eq!(summary.missing, expected);
    let (seen, summary) = packets(&bytes("protected.pcap"));
    assert_eq!(seen.len(), 0);
    assert_eq!(summary.missing, ["1 packet in encrypted 802.11, which is not decoded here"]);
}

#[test]
fn a_report_of_a_packet_too_big_belongs_to_the_connection_that_it_quotes() {
    let (seen, _) = packets(&bytes("too-big.pcap"));
    let reports: Vec<String> = seen
        .iter()
        .filter_map(|packet| match packet.transport {
            Transport::PacketTooBig { mtu } => {
                Some(format!("{} {} {mtu}", packet.source, packet.destination))
            }
            _ => None,
        })
        .collect();
    let expected = ["10.0.0.1:40000 10.0.0.2:80 1400", "[2001:db8::1]:1 [2001:db8::2]:2 1280"];
    assert_eq!(reports, expected);
}

/// Every byte of every file may be another: what is read may be wrong, but reading ends, and no header is read past its packet.
#[test]
fn damaged_headers_end_no_reading() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tunnels");
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it is readable").path();
        if path.extension().is_none_or(|extension| extension != "pcap") {
            continue;
        }
        let whole = fs::read(&path).expect("it is readable");
        for at in 40..whole.len().min(200) {
            for value in [0x00, 0xff, 0x45, 0x08] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = read(&damaged[..], |_| ());
            }
        }
    }
}
