//! Changing what happens to packets on a link.

use super::{ActionPlace, ActionType};
use crate::experiment::link::LinkDirection;
use crate::experiment::prelude::*;
use crate::experiment::{Experiment, Link};

/// A change of a link. What it does not name stays as it is.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeLink {
    /// The two hosts that the link joins.
    pub between: [String; 2],
    /// How many bits of Ethernet frames it carries per second.
    pub rate: Option<BitRate>,
    /// How long a packet travels.
    pub delay: Option<Span>,
    /// The share of packets that are lost (`"0 %"` ends it).
    pub loss: Option<Share>,
    /// Whether no packet passes at all, as where a switch on the way has failed: neither host sees its own end go down. `false` lets
    /// them pass again.
    pub down: Option<bool>,
    /// Whether the link is again as the file has it, except for the other keys of this action.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
}

impl ChangeLink {
    /// Which links of the experiment it is about: one, or, where it names a group of hosts, those of all of them.
    pub fn places(&self, experiment: &Experiment) -> Vec<usize> {
        let [some, others] = self.between.each_ref().map(|host| experiment.members(host));
        let joins = |link: &Link| {
            let [a, b] = link.between.each_ref().map(String::as_str);
            some.contains(&a) && others.contains(&b) || some.contains(&b) && others.contains(&a)
        };
        let all = experiment.links.iter().enumerate();
        all.filter(|(_, link)| joins(link)).map(|(place, _)| place).collect()
    }

    /// The link after the action, where `now` is the link before it and `first` that of the file.
    pub fn applied(&self, now: &LinkState, first: &Link) -> LinkState {
        let mut after = if self.reset { LinkState::of(first) } else { now.clone() };
        // A packet cannot travel for less than no time.
        let shortened = |jitter: Option<Span>| match self.delay {
            Some(delay) => jitter.map(|jitter| jitter.min(delay)),
            None => jitter,
        };
        let link = &mut after.link;
        link.rate = self.rate.or(link.rate);
        link.delay = self.delay.or(link.delay);
        link.jitter = shortened(link.jitter);
        link.loss = self.loss.or(link.loss);
        // Settings of the way back alone would hide the change there.
        if let Some(back) = &mut link.back {
            back.rate = self.rate.or(back.rate);
            back.delay = self.delay.or(back.delay);
            back.jitter = shortened(back.jitter);
            back.loss = self.loss.or(back.loss);
        }
        after.down = self.down.unwrap_or(after.down);
        after
    }
}

/// State of a link at a moment of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkState {
    /// Effects on packets.
    pub link: Link,
    /// Whether it lets none pass.
    pub down: bool,
}

impl LinkState {
    /// State at the beginning.
    #[must_use]
    pub fn of(link: &Link) -> Self {
        Self { link: link.clone(), down: false }
    }

    /// The shapes of both directions: from the first host to the second, and back.
    pub fn ways(&self) -> [LinkDirection; 2] {
        let ways = self.link.ways();
        if !self.down {
            return ways;
        }
        ways.map(|way| LinkDirection { loss: Some(Share(1.0)), loss_burst: None, ..way })
    }
}

/// States of a link in the course of a trial, one after the other, whatever the order in which its changes come: the first is that of the
/// file.
pub fn states(experiment: &Experiment, place: usize) -> Vec<LinkState> {
    let first = &experiment.links[place];
    let mut states = vec![LinkState::of(first)];
    for action in experiment.all_actions() {
        let Some(change) = action.kind.link().filter(|change| change.places(experiment).contains(&place))
        else {
            continue;
        };
        let after = change.applied(states.last().expect("the first is that of the file"), first);
        states.push(after);
    }
    states
}

impl ActionType for ChangeLink {
    fn check(&self, at: &ActionPlace<'_>) -> Checked {
        if self.places(at.experiment).is_empty() {
            let all =
                at.experiment.links.iter().map(|link| format!("{} - {}", link.between[0], link.between[1]));
            let all: Vec<String> = all.collect();
            let expected =
                if all.is_empty() { "a link, but none is declared".to_owned() } else { all.join(", ") };
            let [a, b] = &self.between;
            return Err(problem(
                at.key("link", "between"),
                format!("no link joins `{a}` and `{b}`"),
                expected,
            ));
        }
        let Self { between: _, rate, delay, loss, down, reset } = self;
        if rate.is_none() && delay.is_none() && loss.is_none() && down.is_none() && !reset {
            let message = "nothing of the link is changed";
            return Err(problem(
                [at.at.as_slice(), &path!["link"]].concat(),
                message,
                "`rate`, `delay`, `loss`, `down` or `reset`",
            ));
        }
        Ok(())
    }

    fn describe(&self) -> String {
        let [a, b] = &self.between;
        let changes = [
            self.reset.then(|| "as it was".to_owned()),
            self.rate.map(|rate| format!("rate {rate}")),
            self.delay.map(|delay| format!("delay {delay}")),
            self.loss.map(|loss| format!("loss {loss}")),
            self.down.map(|down| if down { "down".to_owned() } else { "up".to_owned() }),
        ];
        format!("link {a} - {b}: {}", changes.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    fn effects(&self, _: &str) -> Vec<Effect> {
        Vec::new()
    }

    fn needs_namespaces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(text: &str) -> Link {
        toml::from_str(&format!("between = [\"a\", \"b\"]\n{text}")).unwrap()
    }

    fn change(text: &str) -> ChangeLink {
        toml::from_str(&format!("between = [\"b\", \"a\"]\n{text}")).unwrap()
    }

    #[test]
    fn a_change_leaves_what_it_does_not_name_and_a_reset_brings_the_file_back() {
        let first = link("delay = \"20ms\"\njitter = \"5ms\"\nback = { loss = \"1 %\" }");
        let start = LinkState::of(&first);
        let lossy = change("loss = \"10 %\"").applied(&start, &first);
        assert_eq!(lossy.ways().map(|way| way.loss), [Some(Share(0.1)); 2]);
        assert_eq!(lossy.ways()[0].delay, Some(Span::millis(20)));
        let fast = change("delay = \"2ms\"").applied(&lossy, &first);
        assert_eq!(fast.ways().map(|way| way.jitter), [Some(Span::millis(2)); 2]);
        let down = change("down = true").applied(&fast, &first);
        assert_eq!(down.ways().map(|way| way.loss), [Some(Share(1.0)); 2]);
        let up = change("down = false").applied(&down, &first);
        assert_eq!(up, fast);
        assert_eq!(change("reset = true").applied(&down, &first), start);
        let other = change("reset = true\nloss = \"0 %\"").applied(&down, &first);
        assert_eq!(other.ways().map(|way| way.loss), [Some(Share(0.0)); 2]);
    }
}
