//! One line of tcpdump's text.

use plimsoll_model::packet::{Endpoint, Flags, SackBlocks, TcpOptions};

use super::clock::{self, Stamp};
use super::names::Names;
use super::sequence::Printed;

/// Kind of a line.
pub(super) enum Line<'a> {
    /// Nothing.
    Blank,
    /// A line of `-x`, `-X` or `-A`.
    Dump,
    /// A message of tcpdump about itself.
    Note,
    /// `12 packets dropped by kernel`.
    Dropped(u64),
    /// A packet, or the first of its lines.
    Stamped { stamp: Stamp, rest: &'a str },
    /// The second line of a packet printed with `-v`.
    Continued(&'a str),
}

impl<'a> Line<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let text = line.trim_start();
        if text.is_empty() {
            return Self::Blank;
        }
        if text.starts_with("0x") {
            return Self::Dump;
        }
        if let Some(count) = text.split_once(" packets dropped by ").map(|(count, _)| count) {
            return count.parse().map_or(Self::Note, Self::Dropped);
        }
        let is_note = ["tcpdump:", "reading from ", "listening on ", "dropped privs", "Warning:"]
            .iter()
            .any(|start| text.starts_with(start));
        if is_note || text.ends_with(" captured") || text.ends_with(" received by filter") {
            return Self::Note;
        }
        match clock::stamp(text) {
            (Stamp::None, rest) if text.len() < line.len() => Self::Continued(rest),
            (stamp, rest) => Self::Stamped { stamp, rest },
        }
    }
}

/// Content of a packet's line, without its time.
pub(super) enum Body {
    Tcp {
        source: Endpoint,
        destination: Endpoint,
        segment: Printed,
    },
    Udp {
        source: Endpoint,
        destination: Endpoint,
        payload: u32,
    },
    /// TCP as `-q` prints it.
    TcpWithoutSequence,
    /// Another protocol.
    Other,
    /// The IP header alone: the packet follows on the next line.
    Header,
    /// No packet.
    Unknown,
}

/// Reads what follows the time.
pub(super) fn body(rest: &str, names: &mut Names) -> Body {
    for (at, _) in rest.match_indices(" > ") {
        let left = rest[..at].rsplit(' ').next().unwrap_or("");
        let Some((right, what)) = rest[at + 3..].split_once(": ") else { continue };
        // A hardware address (-e) is no endpoint; the pair behind it is.
        let (Some(left), Some(right)) = (split(left), split(right)) else { continue };
        let Some(carried) = carried(what) else { continue };
        return match (names.endpoint(left), names.endpoint(right), carried) {
            (Some(source), Some(destination), Carried::Tcp(segment)) => {
                Body::Tcp { source, destination, segment }
            }
            (Some(source), Some(destination), Carried::Udp(payload)) => {
                Body::Udp { source, destination, payload }
            }
            (_, _, Carried::TcpWithoutSequence) => Body::TcpWithoutSequence,
            _ => Body::Unknown,
        };
    }
    let is_header = rest.contains("(tos ") && rest.ends_with(')');
    let protocols =
        ["IP ", "IP6 ", "ARP", "arp ", "STP", "LLDP", "ethertype", "802.", "In ", "Out ", "M ", "B "];
    if is_header {
        Body::Header
    } else if protocols.iter().any(|start| rest.starts_with(start)) || rest.contains(" > ") {
        Body::Other
    } else {
        Body::Unknown
    }
}

/// `127.0.0.1.8000` as host and port.
fn split(word: &str) -> Option<(&str, &str)> {
    let (host, port) = word.rsplit_once('.')?;
    (!host.is_empty() && !port.is_empty() && !port.contains(':')).then_some((host, port))
}

enum Carried {
    Tcp(Printed),
    TcpWithoutSequence,
    Udp(u32),
}

/// Part after the endpoints.
fn carried(what: &str) -> Option<Carried> {
    if let Some(rest) = what.strip_prefix("Flags [") {
        return modern(rest).map(Carried::Tcp);
    }
    if what.starts_with("tcp ") {
        return Some(Carried::TcpWithoutSequence);
    }
    let is_udp = ["UDP,", "udp ", "[udp sum ok]", "[bad udp cksum", "[no cksum]", "NTP", "BOOTP"]
        .iter()
        .any(|start| what.starts_with(start));
    if is_udp {
        return Some(Carried::Udp(last_length(what).unwrap_or(0)));
    }
    if let Some(printed) = old(what) {
        return Some(Carried::Tcp(printed));
    }
    // A name server's message begins with its number and ends with its length: `4711+ A? example.org. (29)`.
    let is_dns = what.bytes().next()?.is_ascii_digit() && what.ends_with(')');
    is_dns.then(|| last_length(what)).flatten().map(Carried::Udp)
}

/// The last length in a line: `length 29`, `(29)` or `udp 29`.
fn last_length(what: &str) -> Option<u32> {
    if let Some((_, length)) = what.rsplit_once("length ") {
        return leading_number(length);
    }
    if let Some(length) = what.strip_prefix("udp ") {
        return leading_number(length);
    }
    leading_number(what.rsplit_once('(')?.1)
}

/// Today's form, from behind `Flags [`.
fn modern(rest: &str) -> Option<Printed> {
    let (letters, rest) = rest.split_once(']')?;
    let mut printed = Printed::default();
    printed.segment.flags = flags(letters)?;
    let (fields, options) = match rest.split_once("options [") {
        Some((fields, behind)) => {
            let (options, behind) = behind.split_once(']')?;
            printed.segment.payload = length_field(behind).unwrap_or(0);
            (fields, options)
        }
        None => (rest, ""),
    };
    let mut counted = None;
    for field in fields.split(", ").map(|field| field.trim_start_matches(", ").trim_end_matches(',')) {
        match field.trim().split_once(' ') {
            Some(("seq", range)) => counted = Some(sequence_range(range, &mut printed)?),
            Some(("ack", number)) => printed.segment.ack = leading_number(number)?,
            Some(("win", number)) => printed.segment.window = window(number),
            Some(("length", number)) => printed.segment.payload = leading_number(number)?,
            _ => {}
        }
    }
    if let Some(counted @ 1..) = counted
        && printed.segment.payload == 0
    {
        printed.segment.payload = counted;
    }
    printed.segment.options = tcp_options(options);
    Some(printed)
}

/// `, length 60: HTTP: GET / HTTP/1.1`.
fn length_field(behind: &str) -> Option<u32> {
    leading_number(behind.strip_prefix(", length ")?)
}

/// The form before version 4: `P 1:61(60) ack 2 win 16 <nop,nop,timestamp 1 2> (DF)`.
fn old(what: &str) -> Option<Printed> {
    let mut printed = Printed::default();
    let (what, options) = match what.split_once('<') {
        Some((what, options)) => (what, options.split('>').next().unwrap_or("")),
        None => (what, ""),
    };
    let mut words = what.split(' ').filter(|word| !word.is_empty()).peekable();
    let letters = words.next()?;
    printed.segment.flags = flags(letters)?;
    // Here the dot stands for "none of the others", and the word `ack` for the flag.
    printed.segment.flags.0 &= !Flags::ACK.0;
    let mut is_known = false;
    while let Some(word) = words.next() {
        match word {
            "ack" => {
                printed.segment.ack = leading_number(words.next()?)?;
                printed.segment.flags = printed.segment.flags.with(Flags::ACK);
                is_known = true;
            }
            "win" => {
                printed.segment.window = window(words.next()?);
                is_known = true;
            }
            range if range.contains(':') && range.ends_with(')') => {
                let (range, length) = range.split_once('(')?;
                sequence_range(range, &mut printed)?;
                printed.segment.payload = leading_number(length)?;
                is_known = true;
            }
            _ => {}
        }
    }
    printed.segment.options = tcp_options(options);
    is_known.then_some(printed)
}

/// Flags as letters: today `P.`, of old `P`; a dot alone, `none`.
fn flags(letters: &str) -> Option<Flags> {
    if letters == "none" {
        return Some(Flags::default());
    }
    let mut flags = 0;
    for letter in letters.bytes() {
        flags |= match letter {
            b'F' => 0x01,
            b'S' => 0x02,
            b'R' => 0x04,
            b'P' => 0x08,
            b'.' => 0x10,
            b'U' => 0x20,
            b'E' => 0x40,
            b'W' => 0x80,
            // Accurate ECN has a bit of the next byte.
            b'e' => 0,
            _ => return None,
        };
    }
    (!letters.is_empty()).then_some(Flags(flags))
}

/// `1:61`, or `1` alone; returns its length.
fn sequence_range(range: &str, printed: &mut Printed) -> Option<u32> {
    let (first, last) = range.split_once(':').unwrap_or((range, range));
    let first = leading_number(first)?;
    printed.seq = Some(first);
    let controls = u32::from(printed.segment.flags.has(Flags::SYN));
    Some(leading_number(last)?.wrapping_sub(first).saturating_sub(controls))
}

/// A window; the form before version 4 printed it scaled where the scale was known, which the field cannot hold.
fn window(word: &str) -> u16 {
    let window = leading_number(word).unwrap_or(0);
    u16::try_from(window).unwrap_or(u16::MAX)
}

/// The options of both forms, which differ in the word for time stamps and in the SACK ranges.
fn tcp_options(list: &str) -> TcpOptions {
    let mut options = TcpOptions::default();
    for option in list.split(',') {
        let mut words = option.split([' ', '/']);
        match words.next() {
            Some("mss") => options.mss = words.next().and_then(|word| word.parse().ok()),
            Some("wscale") => options.window_scale = words.next().and_then(|word| word.parse().ok()),
            Some("sackOK") => options.sack_permitted = true,
            Some("timestamp") => options.timestamps = words.next().zip(words.next()).and_then(numbers),
            Some("TS") => options.timestamps = words.nth(1).zip(words.nth(1)).and_then(numbers),
            Some("sack") => options.sack = sack_ranges(option),
            _ => {}
        }
    }
    options
}

/// `sack 2 {61:121}{181:241}`.
fn sack_ranges(option: &str) -> SackBlocks {
    let mut sack = SackBlocks::default();
    for range in option.split('{').skip(1) {
        if let Some((left, right)) = range.trim_end_matches([' ', '}']).split_once(':')
            && let Some((left, right)) = numbers((left, right))
        {
            sack.push(left, right);
        }
    }
    sack
}

fn numbers((first, second): (&str, &str)) -> Option<(u32, u32)> {
    Some((first.parse().ok()?, second.parse().ok()?))
}

/// The number that a word begins with.
fn leading_number(word: &str) -> Option<u32> {
    let end = word.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(word.len());
    word[..end].parse().ok()
}
