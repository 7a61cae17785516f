//! Bare numbers: one figure after the other, between blanks, on one line or on many.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "numbers",
    tool: "any, or hands",
    command: "hdparm -t /dev/sda | sed -n 's/.*= *//p'",
    measured: &[
        "plain value: each number of a line that has nothing but numbers, with an optional unit behind a single one",
    ],
    main: &["value"],
    checked: Checked::Rule("a list of numbers between blanks or semicolons"),
    opening: Some(|first, second| {
        all(first, None).is_some() && second.is_none_or(|line| all(line, None).is_some())
    }),
    reader: Some(|options| Box::new(Numbers { decimal: options.decimal })),
    ..Format::EMPTY
};

struct Numbers {
    decimal: Option<Decimal>,
}

/// The numbers of a line, and the unit where there is one, if there is nothing else.
fn all<'t>(line: &Line<'t>, decimal: Option<Decimal>) -> Option<(Vec<f64>, &'t str)> {
    let mut words = line.text.split(|c: char| c.is_whitespace() || c == ';').filter(|word| !word.is_empty());
    let mut values = vec![plain(words.next()?, decimal)?];
    let mut unit = "";
    for word in words {
        match plain(word, decimal) {
            Some(value) if unit.is_empty() => values.push(value),
            None if values.len() == 1 && unit.is_empty() && is_unit(word) => unit = word,
            _ => return None,
        }
    }
    Some((values, unit))
}

/// `MB/s`, `ms`, `%`: short, and no word of a sentence.
fn is_unit(word: &str) -> bool {
    word.len() <= 12
        && (word == "%" || word.starts_with(char::is_alphabetic))
        && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '%'))
}

impl Reader for Numbers {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if line.text.starts_with('#') {
            return Fit::Mine;
        }
        let Some((values, unit)) = all(line, self.decimal) else { return Fit::Foreign };
        for value in values {
            out.put("value", value, unit, &[]);
        }
        Fit::Mine
    }
}
