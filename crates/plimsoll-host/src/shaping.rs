//! Shapers of a link: the kernel, or an emulator.

use plimsoll_model::experiment::LinkShaper;

use crate::error::HostError;
use crate::netem::{self, Netem};
use crate::spec::{LinkShape, LinkSpec};

/// Shaper of a link, with the reason for the choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaping {
    /// The shaper.
    pub by: LinkShaper,
    /// Reason why it is not the kernel; `None` if it is, or if the experiment chose it.
    pub why: Option<String>,
}

/// Means to shape a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// The kernel, with the disciplines at both ends.
    Netem([Vec<Netem>; 2]),
    /// A process.
    Emulator,
}

/// Chooses the shaper of a link; `None` for a plain link.
pub(crate) fn choose(link: &LinkSpec) -> Result<Option<(Shaping, Means)>, HostError> {
    choose_where(netem::missing, link)
}

/// The kernel's disciplines for both directions.
pub(crate) fn qdiscs(shape: &[LinkShape; 2], seed: u64) -> Result<[Vec<Netem>; 2], &'static str> {
    let [there, back] = shape;
    Ok([netem::qdiscs(there, seed)?, netem::qdiscs(back, !seed)?])
}

fn choose_where(
    missing: impl Fn() -> Option<&'static str>,
    link: &LinkSpec,
) -> Result<Option<(Shaping, Means)>, HostError> {
    if !link.is_shaped() {
        return Ok(None);
    }
    let emulator = |why| Ok(Some((Shaping { by: LinkShaper::Emulator, why }, Means::Emulator)));
    if link.shaper == Some(LinkShaper::Emulator) {
        return emulator(None);
    }
    let all = [&link.shape].into_iter().chain(&link.later);
    let all: Result<Vec<[Vec<Netem>; 2]>, &str> = all.map(|shape| qdiscs(shape, link.seed)).collect();
    let why = match (all.map(|mut all| all.remove(0)), missing()) {
        (Ok(qdiscs), None) => {
            return Ok(Some((Shaping { by: LinkShaper::Netem, why: None }, Means::Netem(qdiscs))));
        }
        (Err(why), _) => format!("netem {why}"),
        (_, Some(why)) => why.to_owned(),
    };
    match link.shaper {
        Some(LinkShaper::Netem) => Err(HostError::NoNetem { link: link.to_string(), why }),
        _ => emulator(Some(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::units::QueueLength;

    fn link(shape: LinkShape, shaper: Option<LinkShaper>) -> LinkSpec {
        LinkSpec { shape: [shape.clone(), shape], shaper, ..LinkSpec::new("a", "b") }
    }

    fn chosen(missing: Option<&'static str>, link: &LinkSpec) -> (LinkShaper, Option<String>) {
        let (shaping, means) = choose_where(|| missing, link).unwrap().expect("it is shaped");
        assert_eq!(shaping.by == LinkShaper::Emulator, means == Means::Emulator);
        (shaping.by, shaping.why)
    }

    const NO: Option<&str> = Some("this kernel has no netem");

    #[test]
    fn the_kernel_shapes_where_it_can_and_an_emulator_where_not() {
        let delay = LinkShape { delay_ns: 1, ..LinkShape::default() };
        assert_eq!(choose_where(|| None, &LinkSpec::new("a", "b")).unwrap(), None);
        assert_eq!(chosen(None, &link(delay.clone(), None)), (LinkShaper::Netem, None));
        assert_eq!(chosen(NO, &link(delay.clone(), None)), (LinkShaper::Emulator, NO.map(Into::into)));
        assert_eq!(chosen(None, &link(delay, Some(LinkShaper::Emulator))), (LinkShaper::Emulator, None));
        let bytes = LinkShape { rate_bits: Some(8), queue: QueueLength::Bytes(9), ..LinkShape::default() };
        let (by, why) = chosen(None, &link(bytes, None));
        assert_eq!(by, LinkShaper::Emulator);
        assert!(why.is_some_and(|why| why.starts_with("netem counts its queue in packets")));
    }

    #[test]
    fn a_link_that_changes_is_shaped_from_the_start_by_what_can_do_all_of_it() {
        let delay = LinkShape { delay_ns: 1, ..LinkShape::default() };
        let later =
            |shape: LinkShape| LinkSpec { later: vec![[shape.clone(), shape]], ..LinkSpec::new("a", "b") };
        assert_eq!(chosen(None, &later(delay.clone())), (LinkShaper::Netem, None));
        assert_eq!(chosen(NO, &later(delay)).0, LinkShaper::Emulator);
        let bytes = LinkShape { rate_bits: Some(8), queue: QueueLength::Bytes(9), ..LinkShape::default() };
        assert_eq!(chosen(None, &later(bytes)).0, LinkShaper::Emulator);
    }

    #[test]
    fn a_link_that_asks_for_netem_is_refused_without_it() {
        let delay = LinkShape { delay_ns: 1, ..LinkShape::default() };
        let error = choose_where(|| NO, &link(delay, Some(LinkShaper::Netem))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "link a - b: the experiment asks for netem, but this kernel has no netem"
        );
        assert!(error.advice().is_some_and(|advice| advice.contains("leave `shaper` out")));
    }
}
