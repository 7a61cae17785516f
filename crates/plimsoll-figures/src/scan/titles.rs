//! Titles of calls: the other text that people write above a tool's output.

use std::collections::{BTreeMap, VecDeque};

use super::super::coverage::{Call, QUOTED};

/// The nearest lines that are kept above a call.
const KEPT: usize = 12;

/// Kind of a line above a call, the best title first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// `With the patch:`, `## With the patch`, `**With the patch**`
    Heading,
    /// `$ wrk -t2 http://a/`, `root@host:~# wrk -t2 http://a/`
    Command,
    /// `With the patch`
    Text,
    /// `goarch: amd64`, `1.0`: what a tool may have printed.
    Output,
}

impl Kind {
    fn of(text: &str) -> Self {
        let is_heading = text.starts_with("##")
            || text.starts_with("**")
            || text.strip_suffix(':').is_some_and(|text| text.contains(char::is_alphabetic));
        let prompt = text.split_once(['$', '#']).map_or("", |(before, _)| before);
        let is_command = text.starts_with("$ ")
            || text.starts_with("→ ")
            || (prompt.contains('@') && !prompt.contains(char::is_whitespace));
        let is_output = text.contains(": ") || !text.contains(|c: char| c.is_alphabetic());
        match (is_heading, is_command, is_output) {
            (true, ..) => Self::Heading,
            (_, true, _) => Self::Command,
            (.., false) => Self::Text,
            (.., true) => Self::Output,
        }
    }
}

/// Lines of no tool since the last line with a figure.
#[derive(Debug, Default)]
pub(super) struct Titles(VecDeque<String>);

impl Titles {
    pub(super) fn add(&mut self, text: &str) {
        if self.0.len() == KEPT {
            self.0.pop_back();
        }
        self.0.push_front(text.chars().take(QUOTED).collect());
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The lines, the nearest first.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.0).into()
    }

    /// Puts back lines that stand above those since then.
    pub(super) fn restore(&mut self, above: Vec<String>) {
        self.0.extend(above);
        self.0.truncate(KEPT);
    }
}

/// Names each call by its best line, and rather by one that stands above no other call of the tool.
pub(super) fn name(calls: &mut [Call]) {
    let mut above: BTreeMap<(&str, String), u32> = BTreeMap::new();
    for call in &*calls {
        let mut lines = call.above.clone();
        lines.sort();
        lines.dedup();
        for line in lines {
            *above.entry((call.format, line)).or_default() += 1;
        }
    }
    for call in calls {
        let is_shared =
            |line: &String| above.get(&(call.format, line.clone())).is_some_and(|calls| *calls > 1);
        // Of equally good lines, the first is the nearest.
        let best = call.above.iter().min_by_key(|line| {
            let kind = Kind::of(line);
            (kind == Kind::Output, is_shared(line), kind)
        });
        call.title = best.cloned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(of_each: &[&[&str]]) -> Vec<Option<String>> {
        let call = |(run, lines): (u32, &&[&str])| {
            let mut titles = Titles::default();
            lines.iter().for_each(|line| titles.add(line));
            Call { format: "wrk", run, title: None, above: titles.take() }
        };
        let mut calls: Vec<Call> = (1..).zip(of_each).map(call).collect();
        name(&mut calls);
        calls.into_iter().map(|call| call.title).collect()
    }

    #[test]
    fn a_heading_is_a_better_title_than_a_command_and_a_command_than_output() {
        let of = |lines: &[&str]| titles(&[lines])[0].clone().unwrap();
        assert_eq!(of(&["Before the change:", "goos: linux", "goarch: amd64"]), "Before the change:");
        assert_eq!(of(&["root@a:~# dd if=/dev/zero of=b", "[ left out ]"]), "root@a:~# dd if=/dev/zero of=b");
        assert_eq!(of(&["$ make", "$ perf stat ./a", "1.0"]), "$ perf stat ./a");
        assert_eq!(of(&["one", "two"]), "two");
        assert_eq!(titles(&[&[]]), [None]);
    }

    #[test]
    fn a_line_that_stands_above_each_call_names_none_of_them() {
        let found = titles(&[
            &["$ ethtool -K eth0 tso on", "$ netperf -H a"],
            &["$ ethtool -K eth0 tso off", "$ netperf -H a"],
        ]);
        assert_eq!(
            found.iter().flatten().collect::<Vec<_>>(),
            ["$ ethtool -K eth0 tso on", "$ ethtool -K eth0 tso off"]
        );
        assert_eq!(titles(&[&["$ wrk"], &["$ wrk"]]), [Some("$ wrk".to_owned()), Some("$ wrk".to_owned())]);
    }
}
