//! Links that the kernel shapes: queueing disciplines of kind `netem` at both ends (tc-netem(8); net/sched/sch_netem.c).
//!
//! ```text
//! host a: eth0, netem of a to b ── veth ── eth0, netem of b to a :host b
//! ```
//!
//! Netem does the same to a packet as an [emulator](crate::emulator), except for the length of the queue: netem counts
//! the packets that travel among those that wait. So a link that has both a rate and a delay gets two of them, one
//! inside the other: packets first travel, and then wait to be sent, which makes no difference at the far end.
//! [`AskedOfNetem::granted`] refuses shapes that netem lacks.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use plimsoll_model::experiment::AskedOfNetem;
use plimsoll_netlink::{self as netlink, Attributes, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, SockProtocol};

use crate::spec::LinkShape;

/// In bytes per second: no frame takes a nanosecond. With a rate, however high, netem lets no packet overtake another.
const IN_ORDER: u64 = 1_000_000_000_000_000;
/// More than can ever travel at once.
const NO_LIMIT: u32 = u32::MAX;
/// The kernel's index of the loopback interface, in every namespace.
const LOOPBACK: u32 = 1;
/// The root of an interface's disciplines (linux/pkt_sched.h).
const TC_H_ROOT: u32 = u32::MAX;

/// One queueing discipline of kind netem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Netem {
    delay_ns: i64,
    jitter_ns: i64,
    loss: Loss,
    /// The probability that a packet does not travel, of 2³² - 1.
    reorder: u32,
    /// How many packets it holds.
    limit: u32,
    /// In bytes per second; 0 for any.
    rate: u64,
    seed: u64,
}

/// Probabilities of 2³² - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// Each packet for itself.
    ByChance(u32),
    /// Gilbert's model: from the state in which none is lost to that in which all are, and back.
    InBursts { to_bad: u32, to_good: u32 },
}

impl Default for Loss {
    fn default() -> Self {
        Self::ByChance(0)
    }
}

/// The queueing disciplines of one direction: the outermost first, and none if the link is not shaped.
///
/// # Errors
/// Why netem cannot do it, in words that follow on "netem".
pub(crate) fn qdiscs(shape: &LinkShape, seed: u64) -> Result<Vec<Netem>, &'static str> {
    if *shape == LinkShape::default() {
        return Ok(Vec::new());
    }
    let travels = shape.delay_ns > 0;
    let asked = AskedOfNetem {
        rate: shape.rate_bits.is_some(),
        delay: Duration::from_nanos(shape.delay_ns),
        jitter: Duration::from_nanos(shape.jitter_ns.min(shape.delay_ns)),
        reorder: shape.reorder,
        queue: Some(shape.queue),
    };
    let granted = asked.granted()?;
    let travel = Netem {
        delay_ns: granted.delay_ns,
        jitter_ns: granted.jitter_ns.into(),
        loss: loss(shape),
        reorder: if travels { of_all(shape.reorder) } else { 0 },
        limit: NO_LIMIT,
        rate: if shape.jitter_ns > 0 { IN_ORDER } else { 0 },
        seed,
    };
    let (Some(rate_bits), Some(queue)) = (shape.rate_bits, granted.queue) else { return Ok(vec![travel]) };
    // The packet that is being sent is among those that netem holds.
    let (rate, limit) = ((rate_bits / 8).max(1), queue.saturating_add(1));
    Ok(if travels {
        vec![travel, Netem { limit, rate, seed, ..Netem::default() }]
    } else {
        vec![Netem { limit, rate, ..travel }]
    })
}

/// The share as a part of 2³² - 1.
fn of_all(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * f64::from(u32::MAX)).round() as u32
}

fn loss(shape: &LinkShape) -> Loss {
    match shape.gilbert() {
        Some((to_bad, to_good)) if shape.loss_burst > 1.0 / (1.0 - shape.loss) => {
            Loss::InBursts { to_bad: of_all(to_bad), to_good: of_all(to_good) }
        }
        _ => Loss::ByChance(of_all(shape.loss)),
    }
}

/// Adds these to an interface of the calling thread's network namespace, which must have none.
pub(crate) fn add(interface: u32, qdiscs: &[Netem]) -> io::Result<()> {
    qdiscs.iter().enumerate().try_for_each(|(depth, netem)| {
        netlink::ask(SockProtocol::NetlinkRoute, &netem.message(interface, depth as u32), 1)
    })
}

/// Changes the disciplines of an interface of another network namespace. Travelling packets survive if the number of disciplines stays.
pub(crate) fn change_in(
    namespace: &OwnedFd,
    interface: u32,
    before: &[Netem],
    after: &[Netem],
) -> io::Result<()> {
    thread::scope(|scope| {
        let changing = || {
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
            change(interface, before, after)
        };
        let worker = thread::Builder::new().name("change-netem".into()).spawn_scoped(scope, changing)?;
        worker.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")))
    })
}

fn change(interface: u32, before: &[Netem], after: &[Netem]) -> io::Result<()> {
    if before.len() == after.len() {
        return after.iter().enumerate().try_for_each(|(depth, netem)| {
            // Without NLM_F_CREATE the one that stands there is changed (tc_modify_qdisc in net/sched/sch_api.c).
            let message = netem.message_with(interface, depth as u32, NLM_F_ACK);
            netlink::ask(SockProtocol::NetlinkRoute, &message, 1)
        });
    }
    if !before.is_empty() {
        netlink::ask(SockProtocol::NetlinkRoute, &removal(interface), 1)?;
    }
    add(interface, after)
}

/// RTM_DELQDISC of the root discipline, with all inside of it.
fn removal(interface: u32) -> Vec<u8> {
    const RTM_DELQDISC: u16 = 37;
    let mut body = vec![0; 4];
    [interface, 0, TC_H_ROOT, 0].iter().for_each(|number| body.extend(number.to_ne_bytes()));
    netlink::message(RTM_DELQDISC, NLM_F_ACK, 0, &body)
}

/// Reason why the kernel cannot shape links, if it cannot. A single attempt in a temporary network namespace decides.
///
/// To be called after [`enter`](crate::enter): without permission for namespaces, the answer is that the kernel
/// refuses.
pub fn missing() -> Option<&'static str> {
    static ANSWER: OnceLock<Option<String>> = OnceLock::new();
    ANSWER.get_or_init(|| try_out().err().map(|error| why_not(&error))).as_deref()
}

fn why_not(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        // The kernel's errors for an unknown kind.
        Some(Errno::ENOENT | Errno::EOPNOTSUPP) => "this kernel has no netem".to_owned(),
        _ => format!("this kernel refuses netem: {error}"),
    }
}

fn try_out() -> io::Result<()> {
    let both = LinkShape { delay_ns: 1, rate_bits: Some(8), ..LinkShape::default() };
    let both = qdiscs(&both, 0).map_err(io::Error::other)?;
    let trying = move || {
        unshare(CloneFlags::CLONE_NEWNET)?;
        add(LOOPBACK, &both)
    };
    let trying = thread::Builder::new().name("try-netem".into()).spawn(trying)?;
    trying.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")))
}

impl Netem {
    /// RTM_NEWQDISC with `struct tcmsg`, at the root or in the one that is outside of it (linux/rtnetlink.h, linux/pkt_sched.h).
    fn message(&self, interface: u32, depth: u32) -> Vec<u8> {
        self.message_with(interface, depth, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)
    }

    fn message_with(&self, interface: u32, depth: u32, flags: u16) -> Vec<u8> {
        const RTM_NEWQDISC: u16 = 36;
        const TCA_KIND: u16 = 1;
        const TCA_OPTIONS: u16 = 2;
        // Handles are 1:, 2: ...; netem has one class, whose number is 1.
        let handle = (depth + 1) << 16;
        let parent = if depth == 0 { TC_H_ROOT } else { depth << 16 | 1 };
        let mut body = vec![0; 4];
        [interface, handle, parent, 0].iter().for_each(|number| body.extend(number.to_ne_bytes()));
        let attributes = Attributes::new().text(TCA_KIND, "netem").bytes(TCA_OPTIONS, &self.options());
        body.extend(attributes.as_bytes());
        netlink::message(RTM_NEWQDISC, flags, 0, &body)
    }

    /// `struct tc_netem_qopt`, and attributes for further options.
    fn options(&self) -> Vec<u8> {
        const TCA_NETEM_REORDER: u16 = 3;
        const TCA_NETEM_LOSS: u16 = 5;
        const TCA_NETEM_RATE: u16 = 6;
        const TCA_NETEM_RATE64: u16 = 8;
        const TCA_NETEM_LATENCY64: u16 = 10;
        const TCA_NETEM_JITTER64: u16 = 11;
        const TCA_NETEM_PRNG_SEED: u16 = 14;
        const NETEM_LOSS_GE: u16 = 2;
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let loss = if let Loss::ByChance(loss) = self.loss { loss } else { 0 };
        // Delay and jitter follow in 64 bits. Of packets one in `gap` may overtake: each, with the probability that follows.
        let gap = u32::from(self.reorder > 0);
        let fixed = words(&[0, self.limit, loss, gap, 0, 0]);
        let mut more = Attributes::new()
            .bytes(TCA_NETEM_LATENCY64, &self.delay_ns.to_ne_bytes())
            .bytes(TCA_NETEM_JITTER64, &self.jitter_ns.to_ne_bytes())
            // Kernels before Linux 6.7 ignore the seed.
            .bytes(TCA_NETEM_PRNG_SEED, &self.seed.to_ne_bytes());
        if self.reorder > 0 {
            // `struct tc_netem_reorder`: probability, correlation
            more = more.bytes(TCA_NETEM_REORDER, &words(&[self.reorder, 0]));
        }
        if let Loss::InBursts { to_bad, to_good } = self.loss {
            // `struct tc_netem_gemodel`: p, r, h, k1, the last two being what comes through when all is bad, and lost when all is good.
            let model = words(&[to_bad, to_good, 0, 0]);
            more = more.nested(TCA_NETEM_LOSS, &Attributes::new().bytes(NETEM_LOSS_GE, &model));
        }
        if self.rate > 0 {
            // `struct tc_netem_rate`: rate, packet_overhead, cell_size, cell_overhead
            let small = u32::try_from(self.rate).unwrap_or(u32::MAX);
            more = more.bytes(TCA_NETEM_RATE, &words(&[small, 0, 0, 0]));
            if small == u32::MAX {
                more = more.bytes(TCA_NETEM_RATE64, &self.rate.to_ne_bytes());
            }
        }
        [fixed, more.as_bytes().to_vec()].concat()
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::units::QueueLength;

    use super::*;

    const MS: u64 = 1_000_000;

    fn only(shape: &LinkShape) -> Netem {
        let mut all = qdiscs(shape, 7).expect("netem can do it");
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// Bytes of a message on a little-endian machine.
    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    /// As `tc qdisc add dev eth0 root handle 1: netem delay 100ms 10ms loss 1% reorder 25% gap 1 limit 4294967295 seed 7` says it, with the
    /// rate that keeps the order.
    #[test]
    #[cfg(target_endian = "little")]
    fn a_message_has_the_bytes_that_the_kernel_expects() {
        let shape = LinkShape {
            delay_ns: 100 * MS,
            jitter_ns: 10 * MS,
            loss: 0.01,
            reorder: 0.25,
            ..LinkShape::default()
        };
        let expected = "
            9c000000 2400 0506 00000000 00000000
            00000000 64000000 00000100 ffffffff 00000000
            0a00 0100 6e6574656d000000
            6c00 0200
              00000000 ffffffff 295c8f02 01000000 00000000 00000000
              0c00 0a00 00e1f50500000000
              0c00 0b00 8096980000000000
              0c00 0e00 0700000000000000
              0c00 0300 00000040 00000000
              1400 0600 ffffffff 00000000 00000000 00000000
              0c00 0800 0080c6a47e8d0300";
        assert_eq!(only(&shape).message(100, 0), bytes(expected));
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn bursts_are_a_model_of_two_states_and_a_rate_below_4_gb_has_32_bits() {
        let shape = LinkShape {
            rate_bits: Some(90_000_000),
            loss: 0.1,
            loss_burst: 5.0,
            queue: QueueLength::Packets(20),
            ..LinkShape::default()
        };
        // From the bad state to the good one with 1/5, back with 1/5 * 0.1/0.9.
        let expected = "
            00000000 15000000 00000000 00000000 00000000 00000000
            0c00 0a00 0000000000000000
            0c00 0b00 0000000000000000
            0c00 0e00 0700000000000000
            1800 0580 1400 0200 065b b005 33333333 00000000 00000000
            1400 0600 50a9ab00 00000000 00000000 00000000";
        assert_eq!(only(&shape).options(), bytes(expected));
    }

    #[test]
    fn a_link_with_a_rate_and_a_delay_has_a_queue_in_which_nothing_travels() {
        let shape = LinkShape {
            rate_bits: Some(8_000_000),
            delay_ns: 20 * MS,
            loss: 0.5,
            queue: QueueLength::Packets(10),
            ..LinkShape::default()
        };
        let both = qdiscs(&shape, 7).unwrap();
        let [travel, queue] = &both[..] else { panic!("{both:?}") };
        assert_eq!((travel.delay_ns, travel.limit, travel.rate), (20_000_000, NO_LIMIT, 0));
        assert_eq!(travel.loss, Loss::ByChance(0x8000_0000), "lost once, not twice");
        assert_eq!((queue.delay_ns, queue.limit, queue.rate), (0, 11, 1_000_000));
        assert_eq!(queue.loss, Loss::ByChance(0));
        // The inner one stands in the only class of the outer one.
        let at =
            |message: &[u8], place: usize| u32::from_ne_bytes(message[place..place + 4].try_into().unwrap());
        let [outer, inner] = [travel.message(5, 0), queue.message(5, 1)];
        assert_eq!([at(&outer, 24), at(&outer, 28)], [0x1_0000, u32::MAX]);
        assert_eq!([at(&inner, 24), at(&inner, 28)], [0x2_0000, 0x1_0001]);
    }

    #[test]
    fn jitter_keeps_the_order_by_a_rate_at_which_no_frame_takes_time() {
        let shape = LinkShape { delay_ns: 10 * MS, jitter_ns: 3 * MS, ..LinkShape::default() };
        assert_eq!(only(&shape).rate, IN_ORDER);
        assert_eq!(65_549 * 1_000_000_000 / IN_ORDER, 0);
        assert_eq!(only(&LinkShape { jitter_ns: 0, ..shape }).rate, 0);
    }

    #[test]
    fn what_netem_cannot_say_is_refused() {
        let rate = LinkShape { rate_bits: Some(1_000_000), ..LinkShape::default() };
        let cases = [
            (LinkShape { queue: QueueLength::Bytes(33_750), ..rate.clone() }, "in packets, not in bytes"),
            (LinkShape { delay_ns: MS, reorder: 0.1, ..rate.clone() }, "pass by the queue"),
            (
                LinkShape { delay_ns: 5_000 * MS, jitter_ns: 3_000 * MS, ..LinkShape::default() },
                "no jitter of more than 2.1 s",
            ),
        ];
        for (shape, expected) in cases {
            let refusal = qdiscs(&shape, 0).expect_err(expected);
            assert!(refusal.contains(expected), "{refusal}");
        }
        assert_eq!(qdiscs(&LinkShape::default(), 0), Ok(vec![]));
        assert_eq!(
            only(&LinkShape { reorder: 0.1, ..rate }).reorder,
            0,
            "where nothing travels nothing overtakes"
        );
    }

    #[test]
    fn shares_are_of_32_bits() {
        assert_eq!([0.0, 0.5, 1.0].map(of_all), [0, 0x8000_0000, u32::MAX]);
        let all = LinkShape { loss: 1.0, loss_burst: 3.0, ..LinkShape::default() };
        assert_eq!(only(&all).loss, Loss::ByChance(u32::MAX));
    }

    #[test]
    fn a_kernel_without_netem_is_distinguished_from_one_that_refuses_it() {
        let reason = |errno: Errno| why_not(&errno.into());
        assert_eq!(reason(Errno::ENOENT), "this kernel has no netem");
        assert!(reason(Errno::EPERM).starts_with("this kernel refuses netem: "), "{}", reason(Errno::EPERM));
    }
}
