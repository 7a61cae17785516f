//! The filter in the kernel: a program for its packet filter (Documentation/networking/filter.rst), over packets that begin with IP.

use libc::sock_filter;

/// `SKF_AD_OFF + SKF_AD_PKTTYPE` (linux/filter.h): what kind of packet it is to this host.
const PACKET_TYPE: u32 = (-0x1000_i32 + 4).cast_unsigned();
/// `PACKET_OUTGOING` (linux/if_packet.h).
const OUTGOING: u32 = 4;
/// `BPF_LD | BPF_B | BPF_ABS`: a byte at an offset.
const LOAD_BYTE: u16 = 0x30;
/// `BPF_LD | BPF_H | BPF_ABS`: two bytes at an offset.
const LOAD_HALF: u16 = 0x28;
/// `BPF_LD | BPF_H | BPF_IND`: two bytes at an offset after the index.
const LOAD_HALF_INDEXED: u16 = 0x48;
/// `BPF_LDX | BPF_B | BPF_MSH`: the index becomes the length of an IPv4 header.
const INDEX_IPV4_HEADER: u16 = 0xb1;
/// `BPF_LDX | BPF_IMM`: the index becomes a constant.
const INDEX_CONSTANT: u16 = 0x01;
/// `BPF_ALU | BPF_RSH | BPF_K`.
const SHIFT_RIGHT: u16 = 0x74;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
const IF_EQUAL: u16 = 0x15;
/// `BPF_JMP | BPF_JSET | BPF_K`.
const IF_ANY_BIT: u16 = 0x45;
/// `BPF_JMP | BPF_JA`.
const JUMP: u16 = 0x05;
/// The part of an IPv4 header's flags field that says how far into its packet a fragment belongs.
const FRAGMENT_OFFSET: u32 = 0x1fff;
const TCP: u32 = 6;
const UDP: u32 = 17;
/// `BPF_RET | BPF_K`.
const RETURN: u16 = 0x06;

/// The most ports of a filter: more jumps than this do not fit one instruction.
pub(super) const MOST_PORTS: usize = 100;

/// Where a jump leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Next,
    Ipv6,
    Ports,
    Accept,
    Reject,
}

/// An instruction whose jumps are not worked out yet.
struct Step {
    code: u16,
    value: u32,
    yes: To,
    no: To,
}

/// TCP and UDP packets that have one of the ports on either side, cut to `snap` bytes; more ports than the filter has
/// room for count as all. A packet's later fragments have no ports, and do not pass. On the loopback interface each
/// packet is seen on its way out and on its way in; `loopback` lets only the latter pass.
pub(super) fn program(ports: &[u16], snap: u32, loopback: bool) -> Vec<sock_filter> {
    let mut steps = Vec::new();
    if loopback {
        steps.extend([load(LOAD_BYTE, PACKET_TYPE), branch(IF_EQUAL, OUTGOING, To::Reject, To::Next)]);
    }
    steps.extend([load(LOAD_BYTE, 0), load(SHIFT_RIGHT, 4), branch(IF_EQUAL, 4, To::Next, To::Ipv6)]);
    steps.extend([
        load(LOAD_HALF, 6),
        branch(IF_ANY_BIT, FRAGMENT_OFFSET, To::Reject, To::Next),
        load(INDEX_IPV4_HEADER, 0),
        load(LOAD_BYTE, 9),
        branch(IF_EQUAL, TCP, To::Ports, To::Next),
        branch(IF_EQUAL, UDP, To::Ports, To::Reject),
    ]);
    let ipv6 = steps.len();
    steps.extend([
        branch(IF_EQUAL, 6, To::Next, To::Reject),
        // Packets with extension headers are rare, and do not pass.
        load(INDEX_CONSTANT, 40),
        load(LOAD_BYTE, 6),
        branch(IF_EQUAL, TCP, To::Ports, To::Next),
        branch(IF_EQUAL, UDP, To::Ports, To::Reject),
    ]);
    let of_ports = steps.len();
    if !ports.is_empty() && ports.len() <= MOST_PORTS {
        for side in [0, 2] {
            steps.push(load(LOAD_HALF_INDEXED, side));
            steps.extend(ports.iter().map(|&port| branch(IF_EQUAL, port.into(), To::Accept, To::Next)));
        }
        steps.push(branch(JUMP, 0, To::Reject, To::Reject));
    }
    let accept = steps.len();
    steps.extend([load(RETURN, snap), load(RETURN, 0)]);
    assemble(&steps, |to, next| match to {
        To::Next => next,
        To::Ipv6 => ipv6,
        To::Ports => of_ports,
        To::Accept => accept,
        To::Reject => accept + 1,
    })
}

/// Replaces each destination by its distance from the following instruction.
fn assemble(steps: &[Step], place: impl Fn(To, usize) -> usize) -> Vec<sock_filter> {
    let instruction = |(at, step): (usize, &Step)| {
        let distance = |to| place(to, at + 1) - (at + 1);
        match step.code {
            JUMP => sock_filter { code: JUMP, jt: 0, jf: 0, k: distance(step.yes) as u32 },
            code => {
                sock_filter { code, jt: distance(step.yes) as u8, jf: distance(step.no) as u8, k: step.value }
            }
        }
    };
    steps.iter().enumerate().map(instruction).collect()
}

fn load(code: u16, value: u32) -> Step {
    branch(code, value, To::Next, To::Next)
}

fn branch(code: u16, value: u32, yes: To, no: To) -> Step {
    Step { code, value, yes, no }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program as the kernel does (`bpf_prog_run` in net/core/filter.c), for the instructions that are used here.
    fn run(code: &[sock_filter], packet: &[u8], outgoing: bool) -> u32 {
        let (mut at, mut a, mut x) = (0, 0u32, 0u32);
        let half = |offset: usize| -> Option<u32> {
            Some(u32::from(u16::from_be_bytes(*packet.get(offset..)?.first_chunk()?)))
        };
        loop {
            let sock_filter { code: what, jt, jf, k } = code[at];
            at += 1;
            let loaded = match what {
                LOAD_BYTE if k == PACKET_TYPE => Some(if outgoing { OUTGOING } else { 0 }),
                LOAD_BYTE => packet.get(k as usize).map(|&byte| byte.into()),
                LOAD_HALF => half(k as usize),
                LOAD_HALF_INDEXED => half((x + k) as usize),
                _ => Some(a),
            };
            // A load past the end ends the program, and the packet does not pass.
            let Some(value) = loaded else { return 0 };
            a = value;
            let jump = |taken: bool| usize::from(if taken { jt } else { jf });
            match what {
                INDEX_IPV4_HEADER => x = u32::from(packet[k as usize] & 0xf) * 4,
                INDEX_CONSTANT => x = k,
                SHIFT_RIGHT => a >>= k,
                IF_EQUAL => at += jump(a == k),
                IF_ANY_BIT => at += jump(a & k != 0),
                JUMP => at += k as usize,
                RETURN => return k,
                _ => {}
            }
        }
    }

    fn ipv4(protocol: u8, options: usize, fragment: u16, from: u16, to: u16) -> Vec<u8> {
        let mut packet = vec![0; 20 + options];
        packet[0] = 0x40 | (5 + options / 4) as u8;
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[9] = protocol;
        packet.extend(from.to_be_bytes());
        packet.extend(to.to_be_bytes());
        packet
    }

    fn ipv6(next: u8, from: u16, to: u16) -> Vec<u8> {
        let mut packet = vec![0; 40];
        (packet[0], packet[6]) = (0x60, next);
        packet.extend(from.to_be_bytes());
        packet.extend(to.to_be_bytes());
        packet
    }

    #[test]
    fn packets_with_a_port_of_the_experiment_pass_on_either_side() {
        let code = program(&[80, 8080], 96, false);
        for packet in [
            ipv4(6, 0, 0, 80, 40000),
            ipv4(6, 0, 0x4000, 40000, 8080),
            ipv4(17, 8, 0, 40000, 80),
            ipv6(6, 8080, 1),
            ipv6(17, 1, 80),
        ] {
            assert_eq!(run(&code, &packet, false), 96, "{packet:02x?}");
        }
    }

    #[test]
    fn everything_else_does_not_pass() {
        let code = program(&[80, 8080], 96, false);
        for packet in [
            ipv4(6, 0, 0, 81, 40000),
            ipv4(1, 0, 0, 80, 80),
            ipv4(17, 0, 0x00b9, 80, 80),
            ipv6(6, 1, 2),
            ipv6(58, 80, 80),
            vec![0x45; 12],
            vec![0x00; 60],
        ] {
            assert_eq!(run(&code, &packet, false), 0, "{packet:02x?}");
        }
    }

    #[test]
    fn without_ports_every_segment_and_datagram_passes() {
        let code = program(&[], 64, false);
        assert_eq!(run(&code, &ipv4(6, 0, 0, 1, 2), false), 64);
        assert_eq!(run(&code, &ipv6(17, 1, 2), false), 64);
        assert_eq!(run(&code, &ipv4(1, 0, 0, 1, 2), false), 0);
        let too_many: Vec<u16> = (1..=MOST_PORTS as u16 + 1).collect();
        assert_eq!(run(&program(&too_many, 64, false), &ipv4(6, 0, 0, 40000, 50000), false), 64);
    }

    #[test]
    fn on_loopback_a_packet_counts_once() {
        let code = program(&[], 64, true);
        let packet = ipv4(6, 0, 0, 1, 2);
        assert_eq!((run(&code, &packet, true), run(&code, &packet, false)), (0, 64));
    }

    #[test]
    fn the_largest_program_fits_its_jumps() {
        let ports: Vec<u16> = (1..=MOST_PORTS as u16).collect();
        let code = program(&ports, 64, true);
        assert_eq!(run(&code, &ipv4(6, 0, 0, 40000, 100), false), 64);
        assert_eq!(run(&code, &ipv4(6, 0, 0, 40000, 101), false), 0);
    }
}
