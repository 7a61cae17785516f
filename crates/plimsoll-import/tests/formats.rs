//! One HTTP exchange in every format: real captures of `tests/data/make.sh`, and tcpdump's output of them.

use std::fs;
use std::path::Path;

use plimsoll_import::packets::{ReadError, read};
use plimsoll_model::packet::{CaptureSummary, Flags, Packet, Segment, Transport};

fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn packets_of(bytes: &[u8]) -> (Vec<Packet>, CaptureSummary) {
    let mut packets = Vec::new();
    let summary = read(bytes, |packet| packets.push(*packet)).expect("the file is readable");
    (packets, summary)
}

fn packets(name: &str) -> Vec<Packet> {
    let (packets, summary) = packets_of(&bytes(name));
    assert_eq!(summary.missing, [""; 0], "{name} is whole");
    packets
}

fn segment(packet: &Packet) -> Segment {
    match packet.transport {
        Transport::Tcp(segment) => segment,
        _ => panic!("the captures hold TCP alone"),
    }
}

/// Fields of a packet that its text has; `day` is added to the time.
fn visible(packet: &Packet, day: u64) -> (u64, String, String, Segment) {
    (packet.time_ns + day, packet.source.to_string(), packet.destination.to_string(), segment(packet))
}

/// An exchange of 5000 bytes: twelve packets, the handshake first, FINs last.
fn is_the_exchange(packets: &[Packet]) {
    assert_eq!(packets.len(), 12);
    assert_eq!(segment(&packets[0]).flags, Flags::SYN);
    assert!(segment(&packets[0]).options.mss.is_some());
    assert!(segment(&packets[1]).options.window_scale.is_some());
    let served: u32 =
        packets.iter().filter(|packet| packet.source.port == 8000).map(|p| segment(p).payload).sum();
    assert!((5000..5400).contains(&served), "{served} bytes of header and object");
    assert!(packets.is_sorted_by_key(|packet| packet.time_ns));
}

#[test]
fn every_link_and_both_byte_orders_give_the_exchange() {
    for name in [
        "loopback.pcap",
        "loopback-be.pcap",
        "micro.pcapng",
        "nanoseconds.pcap",
        "nano.pcapng",
        "nano-be.pcapng",
        "ipv6.pcap",
        "vlan.pcap",
        "cooked.pcap",
        "cooked2.pcap",
    ] {
        is_the_exchange(&packets(name));
    }
}

#[test]
fn the_same_capture_in_another_format_gives_the_same_packets() {
    assert_eq!(packets("loopback-be.pcap"), packets("loopback.pcap"));
    assert_eq!(packets("micro.pcapng"), packets("loopback.pcap"));
    assert_eq!(packets("nano.pcapng"), packets("nanoseconds.pcap"));
    assert_eq!(packets("nano-be.pcapng"), packets("nanoseconds.pcap"));
}

#[test]
fn tags_change_nothing_but_the_length() {
    for (tagged, plain) in packets("vlan.pcap").iter().zip(packets("nanoseconds.pcap")) {
        assert_eq!(*tagged, Packet { wire_bytes: plain.wire_bytes + 8, ..plain });
    }
}

#[test]
fn interfaces_of_different_links_stand_in_one_file() {
    let both = packets("interfaces.pcapng");
    assert_eq!(both.len(), 24);
    is_the_exchange(&both[..12]);
    is_the_exchange(&both[12..]);
}

#[test]
fn text_has_the_packets_of_the_capture_it_was_printed_from() {
    let capture = packets("loopback.pcap");
    let midnight = capture[0].time_ns / 86_400_000_000_000 * 86_400_000_000_000;
    let first = capture[0].time_ns;
    for (name, begin) in [
        ("text.txt", midnight),
        ("text-tt.txt", 0),
        ("text-ttt.txt", first),
        ("text-tttt.txt", 0),
        ("text-ttttt.txt", first),
        ("text-v.txt", midnight),
        ("text-vv.txt", midnight),
        ("text-S.txt", midnight),
        ("text-e.txt", midnight),
        ("text-names.txt", midnight),
    ] {
        let text: Vec<_> = packets(name).iter().map(|packet| visible(packet, begin)).collect();
        let expected: Vec<_> = capture.iter().map(|packet| visible(packet, 0)).collect();
        assert_eq!(text, expected, "{name}");
    }
}

#[test]
fn text_of_ipv6_and_of_cooked_captures_has_their_segments() {
    for (text, capture) in [("text-ipv6.txt", "ipv6.pcap"), ("text-cooked.txt", "cooked2.pcap")] {
        let text: Vec<_> = packets(text).iter().map(segment).collect();
        let capture: Vec<_> = packets(capture).iter().map(segment).collect();
        assert_eq!(text, capture);
    }
}

#[test]
fn text_without_times_or_sequence_numbers_says_so() {
    let (packets, summary) = packets_of(&bytes("text-t.txt"));
    assert_eq!(packets.len(), 12);
    assert!(summary.missing[0].contains("no time"), "{:?}", summary.missing);
    let (packets, summary) = packets_of(&bytes("text-q.txt"));
    assert_eq!((packets.len(), summary.packets), (0, 12));
    assert!(summary.missing[0].contains("without sequence numbers"), "{:?}", summary.missing);
}

#[test]
fn the_form_before_version_4_is_read() {
    let text = "\
18:32:08.275100 IP 127.0.0.1.26792 > 127.0.0.1.8000: S 3000000000:3000000000(0) win 32767 <mss 16396,sackOK,timestamp 7 0,nop,wscale 7>
18:32:08.275140 IP 127.0.0.1.8000 > 127.0.0.1.26792: S 4000000000:4000000000(0) ack 3000000001 win 32767 <mss 16396,sackOK,timestamp 7 7,nop,wscale 7>
18:32:08.275150 IP 127.0.0.1.26792 > 127.0.0.1.8000: . ack 1 win 256 <nop,nop,timestamp 7 7>
18:32:08.275493 IP 127.0.0.1.8000 > 127.0.0.1.26792: P 1:61(60) ack 1 win 16 <nop,nop,timestamp 1 2> (DF)
18:32:08.315493 IP 127.0.0.1.26792 > 127.0.0.1.8000: . ack 61 win 256
18:32:08.415493 IP 127.0.0.1.26792 > 127.0.0.1.8000: FP 1:11(10) ack 61 win 256
";
    let (packets, summary) = packets_of(text.as_bytes());
    assert_eq!(summary.missing, [""; 0]);
    let segments: Vec<_> = packets.iter().map(segment).collect();
    assert_eq!(segments[0].options.window_scale, Some(7));
    let data = &segments[3];
    assert_eq!((data.seq, data.ack, data.payload, data.window), (4_000_000_001, 3_000_000_001, 60, 16));
    assert_eq!(data.flags, Flags::PSH.with(Flags::ACK));
    assert_eq!(data.options.timestamps, Some((1, 2)));
    assert_eq!((segments[4].seq, segments[4].ack), (3_000_000_001, 4_000_000_061));
    assert_eq!(segments[5].flags, Flags::FIN.with(Flags::PSH).with(Flags::ACK));
}

#[test]
fn an_excerpt_without_handshake_keeps_its_numbers() {
    let text = "18:32:08.275493 IP 127.0.0.1.8000 > 127.0.0.1.26792: P 1:61(60) ack 2 win 16\n\
                18:32:08.315493 IP 127.0.0.1.26792 > 127.0.0.1.8000: . ack 61 win 16\n\
                18:32:08.515493 IP 127.0.0.1.8000 > 127.0.0.1.26792: P 61:121(60) ack 2 win 16\n";
    let segments: Vec<_> = packets_of(text.as_bytes()).0.iter().map(segment).collect();
    assert_eq!((segments[0].seq, segments[0].ack), (1, 2));
    assert_eq!((segments[1].seq, segments[1].ack), (2, 61));
    assert_eq!((segments[2].seq, segments[2].end()), (61, 121));
}

#[test]
fn sack_ranges_udp_and_what_tcpdump_says_of_itself_are_understood() {
    let text = "\
reading from file x.pcap, link-type EN10MB (Ethernet)
10:00:00.000000 IP 10.0.0.1.5000 > 10.0.0.2.80: Flags [.], seq 1000:1100, ack 500, win 10, length 100
10:00:00.000100 IP 10.0.0.2.80 > 10.0.0.1.5000: Flags [.], ack 1, win 10, options [nop,nop,sack 1 {201:301}], length 0
10:00:00.000200 IP 10.0.0.2.53 > 10.0.0.1.4711: 4711 1/0/0 A 10.0.0.9 (45)
10:00:00.000300 IP 10.0.0.1 > 10.0.0.2: ICMP echo request, id 1, seq 1, length 64
10:00:00.000400 ARP, Request who-has 10.0.0.1 tell 10.0.0.2, length 28
5 packets captured
7 packets dropped by kernel
";
    let (packets, summary) = packets_of(text.as_bytes());
    assert_eq!(segment(&packets[1]).options.sack.ranges(), [(1201, 1301)]);
    assert_eq!(packets[2].transport, Transport::Udp { payload: 45 });
    assert_eq!((summary.packets, summary.dropped), (5, Some(7)));
    assert_eq!(summary.missing, ["the capturing program lost 7 packets"]);
}

#[test]
fn names_get_addresses_that_the_summary_explains() {
    let text = "10:00:00.0 IP www.example.org.http > shop.example.org.40000: Flags [P.], seq 1:9, ack 1, win 5, length 8\n";
    let (packets, summary) = packets_of(text.as_bytes());
    assert_eq!(packets[0].source.port, 80);
    assert_eq!(summary.names[0], (packets[0].source.address, "www.example.org".to_owned()));
}

#[test]
fn a_file_cut_anywhere_is_read_as_far_as_it_goes() {
    for name in ["loopback.pcap", "nano-be.pcapng", "interfaces.pcapng"] {
        let whole = bytes(name);
        let all = packets(name);
        let mut seen = 0;
        for length in 24..whole.len() {
            let (packets, _) = packets_of(&whole[..length]);
            assert!(packets.len() >= seen, "{name} cut at {length}: more bytes, fewer packets");
            seen = packets.len();
            for (packet, expected) in packets.iter().zip(&all) {
                assert_eq!((packet.time_ns, packet.source), (expected.time_ns, expected.source));
            }
        }
    }
}

#[test]
fn a_cut_says_where() {
    let whole = bytes("loopback.pcap");
    let (packets, summary) = packets_of(&whole[..whole.len() - 3]);
    assert_eq!(packets.len(), 12, "the headers of the last packet are still there");
    assert!(summary.missing[0].contains("cut within its last packet"), "{:?}", summary.missing);
}

#[test]
fn a_damaged_length_ends_the_reading_with_its_place() {
    let mut damaged = bytes("loopback.pcap");
    let second = 24 + 16 + u32::from_le_bytes(damaged[32..36].try_into().unwrap()) as usize;
    damaged[second + 8..second + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (packets, summary) = packets_of(&damaged);
    assert_eq!(packets.len(), 1);
    assert_eq!(
        summary.missing,
        [format!("damaged from byte {second} on: a packet claims to have kept 4294967295 bytes")]
    );
}

#[test]
fn what_is_no_packet_file_is_an_error_that_says_what_was_expected() {
    let fail = |bytes: &[u8]| read(bytes, |_| ()).unwrap_err();
    assert!(matches!(fail(b""), ReadError::Empty));
    assert!(matches!(fail(b"\xfd7zXZ\0"), ReadError::Compressed("xz")));
    assert!(matches!(fail(&[0x7f, b'E', b'L', b'F', 0, 0]), ReadError::UnknownMagic(_)));
    let text = fail(b"\n[package]\nname = \"x\"\n");
    assert_eq!(
        text.to_string(),
        "no packets in it: expected pcap, pcapng, or the text that tcpdump prints; line 2 is \"[package]\""
    );
}

#[test]
fn fragments_and_short_snap_lengths_are_stated() {
    let mut file = bytes("loopback.pcap");
    // The first packet becomes a later fragment; the snap length of the second cuts into the ports.
    let first = 24 + 16 + 14;
    file[first + 6..first + 8].copy_from_slice(&[0x00, 0x10]);
    let second = 24 + 16 + u32::from_le_bytes(file[32..36].try_into().unwrap()) as usize;
    let kept = u32::from_le_bytes(file[second + 8..second + 12].try_into().unwrap()) as usize;
    file[second + 8..second + 12].copy_from_slice(&35_u32.to_le_bytes());
    file.drain(second + 16 + 35..second + 16 + kept);
    let (packets, summary) = packets_of(&file);
    assert_eq!((packets.len(), summary.packets), (10, 12));
    assert!(summary.missing[0].contains("1 packet: too little was kept"), "{:?}", summary.missing);
    assert!(summary.missing[1].contains("1 fragment of IP"), "{:?}", summary.missing);
}

#[test]
fn options_that_the_snap_length_cut_off_are_stated() {
    let mut file = bytes("loopback.pcap");
    // Ethernet, IP, and TCP without its options.
    let kept = u32::from_le_bytes(file[32..36].try_into().unwrap()) as usize;
    file[32..36].copy_from_slice(&54_u32.to_le_bytes());
    file.drain(24 + 16 + 54..24 + 16 + kept);
    let (packets, summary) = packets_of(&file);
    let is_cut = |packet: &Packet| matches!(&packet.transport, Transport::Tcp(of) if of.options.is_cut);
    assert_eq!(packets.iter().filter(|packet| is_cut(packet)).count(), 1);
    assert_eq!(
        summary.missing,
        ["the snapshot length cut off the TCP options of 1 packet (time stamps, SACK, window scale)"]
    );
}
