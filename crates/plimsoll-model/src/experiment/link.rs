//! Links between hosts, and what happens to packets on them.

use std::time::Duration;

use super::Experiment;
use crate::experiment::prelude::*;
use crate::units::QueueLength;

/// A virtual Ethernet link between two hosts. What is said of packets holds in both directions, unless `back` says otherwise.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The two hosts that it joins.
    pub between: [String; 2],
    /// The largest packet, in bytes (68 to 65535).
    pub mtu: Option<u32>,
    /// How many bits of Ethernet frames it carries per second.
    pub rate: Option<BitRate>,
    /// How long a packet travels.
    pub delay: Option<Span>,
    /// How much longer or shorter it may travel, every value as likely; packets keep their order. At most `delay`.
    pub jitter: Option<Span>,
    /// The share of packets that are lost.
    pub loss: Option<Share>,
    /// How many packets are lost in a row, on average (1 or more); by default, as chance has it.
    pub loss_burst: Option<f64>,
    /// The share of packets that do not travel for `delay` and so overtake others.
    pub reorder: Option<Share>,
    /// How much may wait to be sent where there is a `rate`, in packets or bytes; 1000 packets by default.
    pub queue: Option<QueueLength>,
    /// Differences on the way from the second host to the first.
    pub back: Option<LinkDirection>,
    /// Work of the link's ends in place of the kernel's on each packet. The default is all that a virtual link can. On a link that
    /// does something to packets it is nothing, so that packets are as long as on a cable.
    pub offload: Option<Offloads>,
    /// Fixes which packets are lost and how they jitter; by default that differs from trial to trial. Netem knows it from Linux 6.7 on.
    pub seed: Option<u64>,
    /// The shaper of the link. By default the kernel's netem, and a link emulator of Plimsoll's own where there is none, or it cannot say what
    /// was asked for.
    pub shaper: Option<LinkShaper>,
}

/// Work of a network interface in place of the kernel's on each packet (ethtool(8), `-K`). Features that are not named stay as they are.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Offloads {
    /// Generic segmentation offload: packets are cut to size as late as possible.
    pub gso: Option<bool>,
    /// Generic receive offload: packets that belong together are taken as one.
    pub gro: Option<bool>,
    /// TCP segmentation offload: the interface cuts packets to size.
    pub tso: Option<bool>,
    /// Large receive offload: the interface puts packets together. A virtual link has none, and refuses `true`.
    pub lro: Option<bool>,
}

/// Shaper of a link's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkShaper {
    /// The kernel's netem, on both ends.
    Netem,
    /// A process of Plimsoll's own between the ends.
    Emulator,
}

/// One direction of a link.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkDirection {
    /// How many bits of Ethernet frames it carries per second.
    pub rate: Option<BitRate>,
    /// How long a packet travels.
    pub delay: Option<Span>,
    /// How much longer or shorter it may travel.
    pub jitter: Option<Span>,
    /// The share of packets that are lost.
    pub loss: Option<Share>,
    /// How many packets are lost in a row, on average (1 or more).
    pub loss_burst: Option<f64>,
    /// The share of packets that overtake others.
    pub reorder: Option<Share>,
    /// How much may wait to be sent.
    pub queue: Option<QueueLength>,
}

impl Link {
    /// The first setting that makes no sense.
    pub(super) fn check(&self, experiment: &Experiment, index: usize) -> Checked {
        for (end, name) in self.between.iter().enumerate() {
            declared(name, &experiment.hosts, "host", path!["links", index, "between", end])?;
            let kind = experiment.hosts[name].kind;
            if !kind.own().network {
                return Err(problem(
                    path!["links", index, "between", end],
                    format!("`{name}` is a {} host, which has no links", kind.name()),
                    "a host of kind \"namespace\"",
                ));
            }
        }
        if self.between[0] == self.between[1] {
            return Err(problem(
                path!["links", index, "between"],
                "the link joins a host to itself",
                "two different hosts",
            ));
        }
        if let Some(mtu) = self.mtu {
            in_range(u64::from(mtu), 68, 65535, path!["links", index, "mtu"])?;
        }
        for way in self.ways() {
            if way.jitter > way.delay {
                return Err(problem(
                    path!["links", index, "jitter"],
                    "the jitter exceeds the delay",
                    "a jitter of at most the delay",
                ));
            }
            if let Some(why) = way.beyond_netem().filter(|_| self.shaper == Some(LinkShaper::Netem)) {
                let why = format!("netem {why}");
                return Err(problem(path!["links", index, "shaper"], why, "`\"emulator\"`, or no `shaper`"));
            }
            if way.loss_burst.is_some_and(|burst| burst < 1.0) {
                return Err(problem(
                    path!["links", index, "loss_burst"],
                    "no loss is shorter than one packet",
                    "a number from 1",
                ));
            }
            if way.queue.is_some() && way.rate.is_none() {
                return Err(problem(
                    path!["links", index, "queue"],
                    "without a rate nothing ever waits",
                    "`rate` beside it",
                ));
            }
        }
        Ok(())
    }

    /// The shapes of both directions: from the first host to the second, and back.
    pub fn ways(&self) -> [LinkDirection; 2] {
        let there = LinkDirection {
            rate: self.rate,
            delay: self.delay,
            jitter: self.jitter,
            loss: self.loss,
            loss_burst: self.loss_burst,
            reorder: self.reorder,
            queue: self.queue,
        };
        let own = self.back.clone().unwrap_or_default();
        let back = LinkDirection {
            rate: own.rate.or(there.rate),
            delay: own.delay.or(there.delay),
            jitter: own.jitter.or(there.jitter),
            loss: own.loss.or(there.loss),
            loss_burst: own.loss_burst.or(there.loss_burst),
            reorder: own.reorder.or(there.reorder),
            queue: own.queue.or(there.queue),
        };
        [there, back]
    }
}

impl LinkDirection {
    /// Why netem cannot do this, in words that follow on "netem"; `None` if it can.
    pub fn beyond_netem(&self) -> Option<&'static str> {
        let asked = AskedOfNetem {
            rate: self.rate.is_some(),
            delay: self.delay.unwrap_or_default().0,
            jitter: self.jitter.unwrap_or_default().0,
            reorder: self.reorder.map_or(0.0, |share| share.0),
            queue: self.queue,
        };
        asked.granted().err()
    }
}

/// Settings of one direction for netem, as far as it has limits on them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskedOfNetem {
    /// Whether packets wait to be sent.
    pub rate: bool,
    /// How long a packet travels.
    pub delay: Duration,
    /// How much longer or shorter it may travel.
    pub jitter: Duration,
    /// The share of packets that overtake others.
    pub reorder: f64,
    /// Capacity of the queue where there is a rate; nothing for the usual one.
    pub queue: Option<QueueLength>,
}

/// Link settings in the units that netem takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantedByNetem {
    /// How long a packet travels.
    pub delay_ns: i64,
    /// How much longer or shorter it may travel.
    pub jitter_ns: i32,
    /// Capacity of the queue in packets; absent if none waits, or for the usual one.
    pub queue: Option<u32>,
}

impl AskedOfNetem {
    /// Converts the settings to the units that netem takes.
    ///
    /// # Errors
    /// Why netem cannot do it, in words that follow on "netem".
    pub fn granted(&self) -> Result<GrantedByNetem, &'static str> {
        let delay_ns = i64::try_from(self.delay.as_nanos()).map_err(|_| "has no delay that long")?;
        // The kernel cuts it to 31 bits.
        let jitter_ns =
            i32::try_from(self.jitter.as_nanos()).map_err(|_| "has no jitter of more than 2.1 s")?;
        if self.rate && delay_ns > 0 && self.reorder > 0.0 {
            return Err("lets packets that overtake others pass by the queue of a link with a rate");
        }
        let queue = match self.queue.filter(|_| self.rate) {
            Some(QueueLength::Packets(packets)) => Some(packets),
            Some(QueueLength::Bytes(_)) => return Err("counts its queue in packets, not in bytes"),
            None => None,
        };
        Ok(GrantedByNetem { delay_ns, jitter_ns, queue })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_netem_cannot_do_is_known() {
        let of = |text: &str| toml::from_str::<Link>(&format!("between = [\"a\", \"b\"]\n{text}")).unwrap();
        let why =
            |text: &str| of(text).ways().iter().find_map(LinkDirection::beyond_netem).unwrap_or_default();
        assert_eq!(why("delay = \"20ms\"\njitter = \"5ms\"\nreorder = \"1%\"\nshaper = \"netem\""), "");
        assert_eq!(why("rate = \"1Mbit\"\nqueue = 20\ndelay = \"20ms\""), "");
        assert!(why("rate = \"1Mbit\"\nqueue = \"20kB\"").contains("in packets"));
        assert!(why("rate = \"1Mbit\"\ndelay = \"20ms\"\nreorder = \"1%\"").contains("pass by the queue"));
        assert!(why("delay = \"3s\"\njitter = \"2500ms\"").contains("no jitter"));
    }

    #[test]
    fn the_way_back_is_like_the_way_there_except_for_its_own_settings() {
        let text = r#"
between = ["home", "office"]
rate = "1Mbit"
delay = "10ms"
back = { rate = "16Mbit" }
"#;
        let link: Link = toml::from_str(text).unwrap();
        let [there, back] = link.ways();
        assert_eq!((there.rate, back.rate), (Some(BitRate(1_000_000)), Some(BitRate(16_000_000))));
        assert_eq!((there.delay, back.delay), (Some(Span::millis(10)), Some(Span::millis(10))));
    }
}
