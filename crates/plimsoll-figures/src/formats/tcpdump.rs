//! Output of tcpdump. It is recognised, and read by another command.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "tcpdump",
    tool: "tcpdump",
    command: "tcpdump -tttt -n",
    checked: Checked::Run("4.99.3"),
    marks: &[" > "],
    start: |line| is_packet(line.text).then_some(Start::Within),
    reader: Some(|_| Box::new(Tcpdump)),
    elsewhere: Some("plimsoll trace FILE"),
    ..Format::EMPTY
};

/// `21:24:01.123456 IP 10.0.0.1.4711 > 10.0.0.2.80: Flags [S], ...`, without `IP` and `Flags` in 2001.
fn is_packet(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    let is_date = |word: &&str| word.len() == 10 && word.matches('-').count() == 2;
    words.next_if(is_date);
    let time = words.next().and_then(|word| clock(word.split_once('.')?.0, None));
    let rest: Vec<&str> = words.take(5).collect();
    let arrow = rest.iter().position(|word| *word == ">");
    time.is_some()
        && arrow.is_some_and(|place| place >= 1 && rest.get(place + 1).is_some_and(|to| to.ends_with(':')))
}

struct Tcpdump;

impl Reader for Tcpdump {
    fn line(&mut self, line: &Line<'_>, _out: &mut Out<'_>) -> Fit {
        if is_packet(line.text) { Fit::Mine } else { Fit::Foreign }
    }
}
