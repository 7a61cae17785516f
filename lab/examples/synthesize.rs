//! Writes a large pcap of HTTP-like connections, to measure readers with:
//! `cargo run --release --example synthesize -- OUT.pcap MEGABYTES [SNAP] [AT_ONCE]`
//!
//! Each connection is a handshake, twenty requests with answers of ten segments, acknowledgements of every second
//! segment, and a close. Every fiftieth answer has a segment that is lost and sent again. `AT_ONCE` connections are
//! interleaved packet by packet.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

const FIN: u8 = 1;
const SYN: u8 = 2;
const PSH: u8 = 8;
const ACK: u8 = 16;
const SEGMENT: u32 = 1448;

/// One packet of a connection: direction, sequence numbers, flags, payload.
struct Step {
    from_client: bool,
    seq: u32,
    ack: u32,
    flags: u8,
    payload: u32,
}

/// The packets of a whole connection.
fn script() -> Vec<Step> {
    let (mut client, mut server) = (1000, 2000);
    let mut steps = Vec::new();
    let mut step = |from_client, seq, ack, flags, payload| {
        steps.push(Step { from_client, seq, ack, flags, payload });
    };
    step(true, client, 0, SYN, 0);
    step(false, server, client + 1, SYN | ACK, 0);
    (client, server) = (client + 1, server + 1);
    step(true, client, server, ACK, 0);
    for request in 0..20 {
        step(true, client, server, PSH | ACK, 120);
        client += 120;
        let lost = (request % 50 == 7).then_some(3);
        for segment in (0..10).filter(|&segment| Some(segment) != lost) {
            let flags = if segment == 9 { PSH | ACK } else { ACK };
            step(false, server + segment * SEGMENT, client, flags, SEGMENT);
            let seen = if lost.is_some_and(|lost| segment > lost) { 3 } else { segment + 1 };
            if segment % 2 == 1 || seen == 3 {
                step(true, client, server + seen * SEGMENT, ACK, 0);
            }
        }
        if let Some(lost) = lost {
            step(false, server + lost * SEGMENT, client, ACK, SEGMENT);
            step(true, client, server + 10 * SEGMENT, ACK, 0);
        }
        server += 10 * SEGMENT;
    }
    step(true, client, server, FIN | ACK, 0);
    step(false, server, client + 1, FIN | ACK, 0);
    step(true, client + 1, server + 1, ACK, 0);
    steps
}

/// Ethernet, IPv4, TCP with time stamps, and payload.
fn frame(step: &Step, connection: u32, time_us: u64) -> Vec<u8> {
    let [a, b, c] = [(connection >> 8) as u8, connection as u8, (connection >> 16) as u8];
    let ends = [([10, c, a, b], 40_000 + (connection % 20_000) as u16), ([10, 255, 0, 1], 80)];
    let [(from, source), (to, destination)] = if step.from_client { ends } else { [ends[1], ends[0]] };
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let total = (52 + step.payload) as u16;
    frame.extend([0x45, 0]);
    frame.extend(total.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    frame.extend(from);
    frame.extend(to);
    frame.extend(source.to_be_bytes());
    frame.extend(destination.to_be_bytes());
    frame.extend(step.seq.to_be_bytes());
    frame.extend(step.ack.to_be_bytes());
    frame.extend([0x80, step.flags, 0x20, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
    frame.extend(((time_us / 1000) as u32).to_be_bytes());
    frame.extend([0; 4]);
    frame.resize(frame.len() + step.payload as usize, b'x');
    frame
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("synthesize OUT.pcap MEGABYTES [SNAP] [AT_ONCE]")?;
    let wanted = arguments.get(1).ok_or("how many megabytes?")?.parse::<u64>()? * 1_000_000;
    let snap: usize = arguments.get(2).map_or(Ok(65_535), |snap| snap.parse())?;
    let at_once: u32 = arguments.get(3).map_or(Ok(100), |count| count.parse())?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(&0xa1b2_c3d4_u32.to_le_bytes())?;
    out.write_all(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
    out.write_all(&(snap as u32).to_le_bytes())?;
    out.write_all(&1_u32.to_le_bytes())?;
    let (script, mut written, mut time_us, mut first) = (script(), 24, 1_700_000_000_000_000_u64, 0);
    while written < wanted {
        for step in &script {
            for connection in first..first + at_once {
                time_us += 2;
                let frame = frame(step, connection, time_us);
                let kept = frame.len().min(snap);
                for word in [time_us / 1_000_000, time_us % 1_000_000, kept as u64, frame.len() as u64] {
                    out.write_all(&(word as u32).to_le_bytes())?;
                }
                out.write_all(&frame[..kept])?;
                written += 16 + kept as u64;
            }
        }
        first += at_once;
    }
    out.flush()?;
    Ok(())
}
