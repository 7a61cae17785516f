//! Stacks in the format of pprof: a gzipped message of `profile.proto` (<https://github.com/google/pprof/blob/main/proto/profile.proto>).

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_model::observation::{Frame, FrameKind, Profile};

/// Numbers of fields of the message `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING: u32 = 6;
    pub(super) const PERIOD_TYPE: u32 = 11;
    pub(super) const PERIOD: u32 = 12;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// The stacks of two sides, each a type of sample of its own, `before` and `after`, in nanoseconds of CPU time. The first is scaled to as many
/// operations as the second had: `operations` are those of the two sides.
///
/// # Errors
/// When it cannot be written.
pub fn difference(
    out: &mut dyn Write,
    [before, after]: &[Profile; 2],
    operations: [u64; 2],
) -> io::Result<()> {
    let scale = operations[1] as f64 / operations[0].max(1) as f64;
    let sides = [("before", before, scale), ("after", after, 1.0)];
    write(out, &sides)
}

/// Stacks, in nanoseconds of CPU time.
///
/// # Errors
/// When it cannot be written.
pub fn all(out: &mut dyn Write, profile: &Profile) -> io::Result<()> {
    write(out, &[("cpu", profile, 1.0)])
}

fn write(out: &mut dyn Write, sides: &[(&str, &Profile, f64)]) -> io::Result<()> {
    let mut message = Message::default();
    let mut strings = Numbers::from_empty();
    let unit = strings.of("nanoseconds");
    for (name, ..) in sides {
        message.part(field::SAMPLE_TYPE, &value_type(strings.of(name), unit));
    }
    let mut functions: BTreeMap<&Frame, u64> = BTreeMap::new();
    let mut samples: BTreeMap<Vec<u64>, Vec<u64>> = BTreeMap::new();
    for (side, (_, profile, scale)) in sides.iter().enumerate() {
        let ns_of_one = 1e9 / f64::from(profile.hertz.max(1));
        for (stack, count) in profile.stacks() {
            // The innermost comes first.
            let locations = stack.iter().rev().map(|frame| {
                let next = functions.len() as u64 + 1;
                *functions.entry(frame).or_insert(next)
            });
            let values = samples.entry(locations.collect()).or_insert_with(|| vec![0; sides.len()]);
            values[side] += (count as f64 * scale * ns_of_one).round() as u64;
        }
    }
    for (locations, values) in &samples {
        let mut sample = Message::default();
        sample.numbers(1, locations);
        sample.numbers(2, values);
        message.part(field::SAMPLE, &sample);
    }
    for (frame, id) in functions {
        let mut line = Message::default();
        line.number(1, id);
        let mut location = Message::default();
        location.number(1, id);
        location.part(4, &line);
        message.part(field::LOCATION, &location);
        let name = strings.of(&name(frame));
        let mut function = Message::default();
        function.number(1, id);
        function.number(2, name);
        function.number(3, name);
        message.part(field::FUNCTION, &function);
    }
    let last = sides.last().map_or(("", 1), |(name, profile, _)| (*name, profile.hertz.max(1)));
    message.part(field::PERIOD_TYPE, &value_type(strings.of("cpu"), unit));
    message.number(field::PERIOD, u64::from(1_000_000_000 / last.1));
    message.number(field::DEFAULT_SAMPLE_TYPE, strings.of(last.0));
    for text in strings.all {
        message.bytes(field::STRING, text.as_bytes());
    }
    let mut packed = GzEncoder::new(out, Compression::default());
    packed.write_all(&message.0)?;
    packed.finish().map(drop)
}

/// Name of a frame: other frames than functions are in brackets.
fn name(frame: &Frame) -> String {
    match frame.kind {
        FrameKind::Kernel | FrameKind::User => frame.name.clone(),
        FrameKind::Host
        | FrameKind::Shared
        | FrameKind::Others
        | FrameKind::Plimsoll
        | FrameKind::Process => {
            format!("[{}]", frame.name)
        }
    }
}

fn value_type(name: u64, unit: u64) -> Message {
    let mut message = Message::default();
    message.number(1, name);
    message.number(2, unit);
    message
}

/// Texts by their numbers; the first is empty.
struct Numbers {
    all: Vec<String>,
    known: BTreeMap<String, u64>,
}

impl Numbers {
    fn from_empty() -> Self {
        Self { all: vec![String::new()], known: BTreeMap::from([(String::new(), 0)]) }
    }

    fn of(&mut self, text: &str) -> u64 {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.known.insert(text.to_owned(), number);
        number
    }
}

/// A message of protocol buffers (<https://protobuf.dev/programming-guides/encoding/>).
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// How a field is written: as a number, or as bytes with their length before them.
    const NUMBER: u64 = 0;
    const BYTES: u64 = 2;

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.key(field, Self::NUMBER);
        self.varint(value);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, Self::BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn part(&mut self, field: u32, part: &Self) {
        self.bytes(field, &part.0);
    }

    fn numbers(&mut self, field: u32, values: &[u64]) {
        let mut packed = Self::default();
        values.iter().for_each(|value| packed.varint(*value));
        self.part(field, &packed);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use plimsoll_model::observation::{Arm, ProfileBuilder, ProfileClock};

    use super::*;

    fn profile(stacks: &[(&str, u64)]) -> Profile {
        let mut builder = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, 100);
        for (function, samples) in stacks {
            builder.add(
                &[Frame::new(FrameKind::Host, "firewall"), Frame::new(FrameKind::Kernel, *function)],
                *samples,
            );
        }
        builder.build()
    }

    enum Value {
        Number(u64),
        Bytes(Vec<u8>),
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for place in 0.. {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << (7 * place);
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn fields(mut bytes: &[u8]) -> Vec<(u32, Value)> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = match key & 7 {
                0 => Value::Number(varint(&mut bytes)),
                _ => {
                    let length = varint(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    Value::Bytes(value.to_vec())
                }
            };
            found.push((u32::try_from(key >> 3).unwrap(), value));
        }
        found
    }

    fn parts(fields: &[(u32, Value)], wanted: u32) -> Vec<Vec<u8>> {
        let bytes = fields.iter().filter(|(field, _)| *field == wanted).map(|(_, value)| match value {
            Value::Bytes(bytes) => bytes.clone(),
            Value::Number(number) => panic!("{wanted} is {number}"),
        });
        bytes.collect()
    }

    #[test]
    fn each_stack_has_the_time_of_both_sides_and_its_innermost_function_first() {
        let mut packed = Vec::new();
        let sides = [profile(&[("connect", 40)]), profile(&[("connect", 90), ("lookup", 7)])];
        difference(&mut packed, &sides, [2000, 1000]).unwrap();
        let mut bytes = Vec::new();
        GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
        let all = fields(&bytes);
        let strings: Vec<String> =
            parts(&all, field::STRING).into_iter().map(|bytes| String::from_utf8(bytes).unwrap()).collect();
        assert_eq!(strings[0], "");
        assert_eq!(parts(&all, field::SAMPLE_TYPE).len(), 2);
        let name_of = |id: u64| {
            let function = parts(&all, field::FUNCTION).into_iter().find_map(|bytes| {
                let fields = fields(&bytes);
                let number = |wanted: u32| {
                    fields.iter().find_map(|(field, value)| match value {
                        Value::Number(number) if *field == wanted => Some(*number),
                        _ => None,
                    })
                };
                (number(1) == Some(id)).then(|| number(2).unwrap())
            });
            strings[function.unwrap() as usize].clone()
        };
        let unpacked = |mut bytes: &[u8]| {
            let mut numbers = Vec::new();
            while !bytes.is_empty() {
                numbers.push(varint(&mut bytes));
            }
            numbers
        };
        let mut found: Vec<(Vec<String>, Vec<u64>)> = parts(&all, field::SAMPLE)
            .iter()
            .map(|sample| {
                let sample = fields(sample);
                let stack = unpacked(&parts(&sample, 1)[0]).into_iter().map(name_of).collect();
                (stack, unpacked(&parts(&sample, 2)[0]))
            })
            .collect();
        found.sort();
        let stack = |function: &str| vec![function.to_owned(), "[firewall]".to_owned()];
        assert_eq!(
            found,
            [(stack("connect"), vec![200_000_000, 900_000_000]), (stack("lookup"), vec![0, 70_000_000])]
        );
    }
}
