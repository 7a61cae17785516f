//! JSON documents whose values know the line that they stand in.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Where the lines of a document begin.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The place of the first byte of each line in the document, and its number.
    pub(super) starts: Vec<(usize, u64)>,
}

/// A value of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Json<'t> {
    raw: &'t str,
    whole: &'t str,
    lines: &'t Lines,
}

impl<'t> Json<'t> {
    /// A document, if it is one.
    pub(super) fn new(text: &'t str, lines: &'t Lines) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        Ok(Self { raw: raw.get(), whole: text, lines })
    }

    fn part(&self, raw: &'t RawValue) -> Self {
        Self { raw: raw.get(), ..*self }
    }

    /// The line that it begins in.
    pub(super) fn line(&self) -> u64 {
        let place = self.raw.as_ptr() as usize - self.whole.as_ptr() as usize;
        let after = self.lines.starts.partition_point(|(start, _)| *start <= place);
        after.checked_sub(1).and_then(|at| self.lines.starts.get(at)).map_or(0, |(_, number)| *number)
    }

    /// The fields of an object, in order; none of anything else.
    pub(super) fn fields(&self) -> Vec<(String, Self)> {
        let mut all = Vec::new();
        self.each_field(&mut |name, value| all.push((name.to_owned(), self.part(value))));
        all
    }

    /// The items of a list; none of anything else.
    pub(super) fn items(&self) -> Vec<Self> {
        if !self.raw.starts_with('[') {
            return Vec::new();
        }
        let mut from = serde_json::Deserializer::from_str(self.raw);
        let found = from.deserialize_seq(Items).unwrap_or_default();
        found.into_iter().map(|raw| self.part(raw)).collect()
    }

    /// A field of an object; the first of that name.
    pub(super) fn get(&self, name: &str) -> Option<Self> {
        let mut raw = None;
        self.each_field(&mut |found, value| {
            if raw.is_none() && found == name {
                raw = Some(value);
            }
        });
        raw.map(|raw| self.part(raw))
    }

    /// Hands on each field of an object, in order; none of anything else.
    fn each_field(&self, each: &mut dyn FnMut(&str, &'t RawValue)) {
        if self.raw.starts_with('{') {
            // The document was read as a whole before: there is no fault in it.
            let _ = serde_json::Deserializer::from_str(self.raw).deserialize_map(Each(each));
        }
    }

    /// A field of a field, and so on.
    pub(super) fn at(&self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(*self, |value, name| value.get(name))
    }

    /// Whether it is an object with all of these fields.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        let mut missing: Vec<&str> = names.to_vec();
        self.each_field(&mut |found, _| missing.retain(|name| *name != found));
        missing.is_empty() && !names.is_empty()
    }

    /// The finite number that it is, also where it stands between quotation marks.
    pub(super) fn number(&self) -> Option<f64> {
        let text = self.raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(self.raw);
        super::number::number(text)
    }

    /// The text that it is.
    pub(super) fn text(&self) -> Option<String> {
        serde_json::from_str(self.raw).ok()
    }

    /// A field that is text.
    pub(super) fn text_of(&self, name: &str) -> Option<String> {
        self.get(name)?.text()
    }
}

/// Each field of an object as it stands there.
struct Each<'f, 'de>(&'f mut dyn FnMut(&str, &'de RawValue));

impl<'de> Visitor<'de> for Each<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Name<'de>>()? {
            (self.0)(&name.0, map.next_value()?);
        }
        Ok(())
    }
}

/// The name of a field: a part of the document, but where something in it is escaped.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);

/// The items of a list as they stand there.
struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = list.next_element()? {
            all.push(item);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_line() {
        let text = "{\"a\": [1,\n {\"b\": 2.5}],\n\"c\": \"12\", \"d\": \"x\"}";
        let lines = Lines { starts: vec![(0, 7), (10, 8), (22, 9)] };
        let whole = Json::new(text, &lines).unwrap();
        let b = whole.get("a").unwrap().items()[1].get("b").unwrap();
        assert_eq!((b.number(), b.line()), (Some(2.5), 8));
        let c = whole.get("c").unwrap();
        assert_eq!((c.number(), c.line()), (Some(12.0), 9));
        assert_eq!(whole.text_of("d").as_deref(), Some("x"));
        assert!(whole.has(&["a", "c"]) && !whole.has(&["e"]));
        assert_eq!(whole.at(&["a", "b"]).map(|found| found.line()), None);
        assert!(Json::new("{\"a\": ", &lines).is_err());
    }
}
