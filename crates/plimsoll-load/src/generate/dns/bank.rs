//! Prepared query messages.

use std::borrow::Cow;

use hickory_proto::op::{Edns, Message, Query};
use hickory_proto::rr::{Name, RecordType};
use plimsoll_model::experiment::DnsLoad;
use plimsoll_model::experiment::load::dns::Names;
use plimsoll_model::frame::Failure;

use crate::failure::other;

/// The length of a header (RFC 1035, section 4.1.1).
pub(super) const HEADER: usize = 12;
/// As many messages are made before the load begins; where there are more, each is made when it is asked.
const MADE_BEFORE: u64 = 1 << 16;

/// A question as it is sent, with an id of 0.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) message: Vec<u8>,
    /// Where the question section ends.
    pub(super) end: usize,
}

/// All questions of a load, by number.
pub(super) struct Bank {
    lines: Vec<Line>,
    pub(super) count: u64,
    edns: Option<u16>,
    made: Vec<Question>,
}

/// Questions of one line: each name with each of its types.
struct Line {
    names: Names,
    types: Vec<RecordType>,
    /// How many there are before it.
    before: u64,
}

impl Bank {
    /// The questions of a load.
    ///
    /// # Errors
    /// When there is none, or one cannot be written as a message.
    pub(super) fn new(load: &DnsLoad) -> Result<Self, Failure> {
        let mut bank = Self { lines: Vec::new(), count: 0, edns: load.edns, made: Vec::new() };
        for names in load.names() {
            let types = match names.of_type {
                Some(own) => vec![own],
                None => load.types.clone(),
            };
            let types: Vec<_> = types.into_iter().map(|of| RecordType::from(of.number())).collect();
            let before = bank.count;
            bank.count += names.count * types.len() as u64;
            bank.lines.push(Line { names, types, before });
        }
        if bank.count == 0 {
            return Err(other("ask questions", &"there are none"));
        }
        if bank.count <= MADE_BEFORE {
            bank.made = (0..bank.count).map(|number| bank.make(number)).collect::<Result<_, _>>()?;
        } else {
            // Whether names of a line can be written shows its longest.
            for line in &bank.lines {
                bank.make(line.before + (line.names.count - 1) * line.types.len() as u64)?;
            }
        }
        Ok(bank)
    }

    /// The question with a number, from 0.
    pub(super) fn question(&self, number: u64) -> Cow<'_, Question> {
        match self.made.get(number as usize) {
            Some(question) => Cow::Borrowed(question),
            None => Cow::Owned(self.make(number).expect("the longest name of its line could be written")),
        }
    }

    fn make(&self, number: u64) -> Result<Question, Failure> {
        let line = &self.lines[self.lines.partition_point(|line| line.before <= number) - 1];
        let (within, types) = (number - line.before, line.types.len() as u64);
        let name = line.names.nth(within / types);
        let failed = |error: &dyn std::fmt::Display| other(format!("ask for {name}"), &error);
        let mut parsed = Name::from_ascii(&name).map_err(|error| failed(&error))?;
        parsed.set_fqdn(true);
        let mut message = Message::query();
        message.metadata.id = 0;
        message.metadata.recursion_desired = true;
        message.add_query(Query::query(parsed, line.types[(within % types) as usize]));
        // Nothing but the name, the type and the class stands in the question section.
        let end = message.to_vec().map_err(|error| failed(&error))?.len();
        if let Some(bytes) = self.edns {
            let mut edns = Edns::new();
            edns.set_max_payload(bytes).set_version(0);
            message.set_edns(edns);
        }
        let message = message.to_vec().map_err(|error| failed(&error))?;
        Ok(Question { message, end })
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::experiment::load::dns::RecordType as ModelType;

    use super::*;

    fn asked(bank: &Bank, number: u64) -> (String, RecordType, usize, usize) {
        let question = bank.question(number);
        let message = Message::from_vec(&question.message).unwrap();
        let query = &message.queries[0];
        (query.name().to_string(), query.query_type(), question.end, question.message.len())
    }

    #[test]
    fn names_are_asked_for_each_of_their_types_in_order() {
        let load = DnsLoad {
            names: vec!["a.test".into(), "h{1..2}.test MX".into()],
            types: vec![ModelType::A, ModelType::Txt],
            ..DnsLoad::default()
        };
        let bank = Bank::new(&load).unwrap();
        assert_eq!(bank.count, 4);
        let all: Vec<_> =
            (0..4).map(|number| asked(&bank, number)).map(|(name, of, ..)| (name, of)).collect();
        let expected =
            [("a.test.", RecordType::A), ("a.test.", RecordType::TXT), ("h1.test.", RecordType::MX)];
        assert_eq!(all[..3], expected.map(|(name, of)| (name.to_owned(), of)));
        assert_eq!(asked(&bank, 3), ("h2.test.".into(), RecordType::MX, 12 + 9 + 4, 12 + 9 + 4));
    }

    #[test]
    fn more_names_than_are_made_before_are_made_when_they_are_asked() {
        let names = vec!["h{1..1000000}.plimsoll.test".into()];
        let bank = Bank::new(&DnsLoad { names, edns: Some(1232), ..DnsLoad::default() }).unwrap();
        assert!(bank.made.is_empty());
        let (name, of, end, length) = asked(&bank, 999_999);
        assert_eq!((name.as_str(), of, length - end), ("h1000000.plimsoll.test.", RecordType::A, 11));
    }
}
