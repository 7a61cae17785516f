//! Whether a reply answers its question: what its header says that it has is there, nothing else is, and its answers are about the name and of
//! the type that were asked for, or of an alias of that name (RFC 1035, sections 4.1 and 4.3.2).

use super::bank::HEADER;

/// An alias, whose answers stand beside it.
const CNAME: u16 = 5;
/// Aliases of all names below one; a CNAME beside it names the one that was asked for (RFC 6672, section 3.1).
const DNAME: u16 = 39;
/// A signature of the records beside it.
const RRSIG: u16 = 46;
/// Whatever there is.
const ANY: u16 = 255;
/// The code of names that are not there.
const NXDOMAIN: u8 = 3;
/// The longest name, in bytes (RFC 1035, section 2.3.4).
const LONGEST_NAME: usize = 255;

/// Error in a reply that has the id and the question of a pending query, in words; absent where the reply is sound.
///
/// `asked` is the question: its name, its type and its class.
pub(super) fn fault(message: &[u8], asked: &[u8]) -> Option<&'static str> {
    check(message, asked).err()
}

/// A record of a reply.
struct Record {
    /// Where its name stands.
    name: usize,
    of_type: u16,
    class: u16,
    /// Where its data stand.
    data: usize,
    /// Where it ends.
    end: usize,
}

fn check(message: &[u8], asked: &[u8]) -> Result<(), &'static str> {
    let cut = "the reply has fewer records than it says, or one that cannot be read";
    let count = |at: usize| number(message, at).ok_or(cut);
    let (questions, answers, others) = (count(4)?, count(6)?, u32::from(count(8)?) + u32::from(count(10)?));
    let of_question = |from_end: usize| number(asked, asked.len() - from_end).ok_or(cut);
    let (asked_type, asked_class) = (of_question(4)?, of_question(2)?);
    let first = HEADER + if questions == 1 { asked.len() } else { 0 };
    let mut end = first;
    for _ in 0..answers {
        let record = read(message, end).ok_or(cut)?;
        end = record.end;
        if questions == 0 {
            return Err("the reply has answers, and does not say to which question");
        }
        if record.class != asked_class
            || ![asked_type, CNAME, DNAME, RRSIG].contains(&record.of_type) && asked_type != ANY
        {
            return Err("an answer is of another type or class than was asked for");
        }
        if record.of_type != DNAME && !is_about(message, record.name, first, answers).ok_or(cut)? {
            return Err("an answer is about another name than was asked for");
        }
        let is_there = record.of_type == asked_type && ![CNAME, DNAME].contains(&asked_type);
        if message[3] & 0x0f == NXDOMAIN && is_there {
            return Err("the reply says that the name does not exist, but has the requested records");
        }
    }
    for _ in 0..others {
        end = read(message, end).ok_or(cut)?.end;
    }
    if end == message.len() { Ok(()) } else { Err("the reply continues after its last record") }
}

/// Whether a name is the one that was asked for, or one that an answer says it is an alias of; `None` if one cannot be read. Answers begin at
/// `first`.
fn is_about(message: &[u8], name: usize, first: usize, answers: u16) -> Option<bool> {
    if is_same(message, name, HEADER)? {
        return Some(true);
    }
    let mut at = first;
    for _ in 0..answers {
        let record = read(message, at)?;
        if record.of_type == CNAME && is_same(message, name, record.data)? {
            return Some(true);
        }
        at = record.end;
    }
    Some(false)
}

/// The record that begins there.
fn read(message: &[u8], name: usize) -> Option<Record> {
    let fixed = end_of_name(message, name)?;
    let (of_type, class) = (number(message, fixed)?, number(message, fixed + 2)?);
    let data = fixed + 10;
    let length = usize::from(number(message, fixed + 8)?);
    let end = data + length;
    // Of these two the length is known (RFC 1035, section 3.4.1; RFC 3596, section 2.2).
    let fits = match of_type {
        1 => length == 4,
        28 => length == 16,
        _ => true,
    };
    (fits && end <= message.len()).then_some(Record { name, of_type, class, data, end })
}

fn number(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?))
}

/// Where the name that begins there ends, in place: at a pointer, or behind the root.
fn end_of_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length @ 1..=63 => at += 1 + usize::from(length),
            192.. => return message.get(at + 1).map(|_| at + 2),
            _ => return None,
        }
    }
}

/// Whether two names are the same; `None` if one cannot be read.
fn is_same(message: &[u8], mut one: usize, mut other: usize) -> Option<bool> {
    let mut length = 0;
    loop {
        (one, other) = (follow(message, one)?, follow(message, other)?);
        if one == other {
            return Some(true);
        }
        let (mine, theirs) = (label(message, one)?, label(message, other)?);
        if !mine.eq_ignore_ascii_case(theirs) {
            return Some(false);
        }
        if mine.is_empty() {
            return Some(true);
        }
        let more = 1 + mine.len();
        (one, other, length) = (one + more, other + more, length + more);
        if length > LONGEST_NAME {
            return None;
        }
    }
}

/// Where the pointers lead that stand there, each of which goes back (RFC 1035, section 4.1.4).
fn follow(message: &[u8], mut at: usize) -> Option<usize> {
    while *message.get(at)? >= 192 {
        let to = usize::from(number(message, at)? & 0x3fff);
        if to >= at {
            return None;
        }
        at = to;
    }
    Some(at)
}

/// The label that stands there; the root's is empty.
fn label(message: &[u8], at: usize) -> Option<&[u8]> {
    let length = usize::from(*message.get(at)?);
    message.get(at + 1..at + 1 + length).filter(|_| length < 64)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use hickory_proto::op::{Edns, Message, MessageType, Query, ResponseCode};
    use hickory_proto::rr::rdata::{A, CNAME as Alias, MX, SOA};
    use hickory_proto::rr::{Name, RData, Record as Written, RecordType};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    fn record(of: &str, data: RData) -> Written {
        Written::from_rdata(name(of), 60, data)
    }

    fn address(of: &str) -> Written {
        record(of, RData::A(A(Ipv4Addr::new(192, 0, 2, 1))))
    }

    fn alias(of: &str, to: &str) -> Written {
        record(of, RData::CNAME(Alias(name(to))))
    }

    /// The reply to a question for the address of `www.test`, with its question.
    fn reply(answers: &[Written], change: impl FnOnce(&mut Message)) -> (Vec<u8>, Vec<u8>) {
        let mut message = Message::query();
        message.add_query(Query::query(name("www.test."), RecordType::A));
        let asked = message.to_vec().unwrap()[HEADER..].to_vec();
        message.metadata.message_type = MessageType::Response;
        for answer in answers {
            message.add_answer(answer.clone());
        }
        change(&mut message);
        (message.to_vec().unwrap(), asked)
    }

    fn said(answers: &[Written]) -> Option<&'static str> {
        let (message, asked) = reply(answers, |_| {});
        fault(&message, &asked)
    }

    #[test]
    fn answers_are_about_what_was_asked_for_or_an_alias_of_it() {
        assert_eq!(said(&[]), None, "the name has no address");
        assert_eq!(said(&[address("www.test."), address("WWW.test.")]), None, "names have no case");
        let chain = [alias("www.test.", "a.test."), alias("a.test.", "b.else."), address("b.else.")];
        assert_eq!(said(&chain), None);
        assert_eq!(said(&chain[..2]), None, "what it is an alias of has no address");
        let [first, second, third] = chain;
        assert_eq!(said(&[third, first, second]), None, "in any order");
        assert!(said(&[address("test.")]).unwrap().contains("another name"));
        assert!(said(&[alias("www.test.", "a.test."), address("b.test.")]).unwrap().contains("another name"));
        let mail = record("www.test.", RData::MX(MX::new(1, name("mail.test."))));
        assert!(said(&[mail]).unwrap().contains("another type"));
    }

    #[test]
    fn a_name_that_is_not_there_has_nothing_but_aliases() {
        let not_there = |answers: &[Written]| {
            let (message, asked) = reply(answers, |message| {
                message.metadata.response_code = ResponseCode::NXDomain;
                let zone = SOA::new(name("ns.test."), name("root.test."), 1, 2, 3, 4, 5);
                message.add_authority(record("test.", RData::SOA(zone)));
                message.set_edns(Edns::new());
            });
            fault(&message, &asked)
        };
        assert_eq!(not_there(&[]), None);
        assert_eq!(not_there(&[alias("www.test.", "gone.test.")]), None);
        assert!(not_there(&[address("www.test.")]).unwrap().contains("does not exist"));
    }

    #[test]
    fn records_are_as_many_as_the_header_says_and_whole() {
        let (good, asked) = reply(&[address("www.test.")], |_| {});
        assert_eq!(fault(&good, &asked), None);
        for section in [7, 9, 11] {
            let mut more = good.clone();
            more[section] += 1;
            assert!(fault(&more, &asked).unwrap().contains("fewer records"), "{section}");
        }
        let mut none = good.clone();
        none[7] = 0;
        assert!(fault(&none, &asked).unwrap().contains("after its last record"));
        for end in HEADER + asked.len()..good.len() {
            assert!(fault(&good[..end], &asked).is_some(), "cut to {end} bytes");
        }
        let mut short = good[..good.len() - 1].to_vec();
        let length = short.len() - 4;
        short[length] = 3;
        assert!(fault(&short, &asked).is_some(), "an address of three bytes");
    }

    #[test]
    fn pointers_that_go_in_a_circle_are_no_names() {
        let (mut message, asked) = reply(&[address("www.test.")], |_| {});
        let at = HEADER + asked.len();
        assert_eq!(message[at] & 0xc0, 0xc0, "a pointer to the question");
        message[at + 1] = at as u8;
        assert!(fault(&message, &asked).is_some());
    }

    #[test]
    fn whatever_comes_is_read_to_an_end() {
        let mut random = SmallRng::seed_from_u64(1);
        let (good, asked) = reply(&[alias("www.test.", "a.test."), address("a.test.")], |_| {});
        for _ in 0..50_000 {
            let mut message = good.clone();
            message.resize(random.random_range(HEADER + asked.len()..100), 0xc0);
            for _ in 0..random.random_range(1..20) {
                let at =
                    random.random_range(HEADER + asked.len()..message.len().max(HEADER + asked.len() + 1));
                if let Some(byte) = message.get_mut(at) {
                    *byte = random.random();
                }
            }
            message[7] = random.random_range(0..5);
            fault(&message, &asked);
        }
    }
}
