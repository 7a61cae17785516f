//! A request without an answer: the client gave up with a FIN or a reset, or the capture ended while it waited.
//!
//! A client that sends without waiting for answers (a log stream, an upload) asks nothing, so its last data is no request.

use crate::stalls::gap::{Gap, LastWord};
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, ended_by, were};

pub(super) fn judge(gap: &Gap) -> Option<Finding> {
    let gave_up = gap.by_client && gap.last_word == LastWord::Own && gap.segment.payload == 0;
    (gave_up && !gap.one_way).then(|| Finding {
        class: Class::Unanswered,
        waiting_for: Actor::Server,
        evidence: format!(
            "the client's request got no answer in {:.1} ms, then the client gave up with {}",
            ms(gap.length()),
            ended_by(gap)
        ),
    })
}

/// A request that still waited when the capture ended, `length` ns after it. `unacked` bytes of it were not acknowledged.
pub(in crate::stalls) fn at_end(length: u64, unacked: u32) -> Finding {
    let receipt = match unacked {
        0 => "the server's kernel had acknowledged it".to_owned(),
        count => format!("{} not acknowledged", were(count)),
    };
    Finding {
        class: Class::Unanswered,
        waiting_for: Actor::Server,
        evidence: format!(
            "the client's request got no answer in the {:.1} ms until the capture ended; {receipt}",
            ms(length)
        ),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::packet::Flags;

    use super::super::fixture::gap;
    use super::*;

    fn gives_up(flags: Flags) -> Gap {
        let mut gap = Gap { by_client: true, ..gap() };
        gap.segment.payload = 0;
        gap.segment.flags = flags;
        gap
    }

    #[test]
    fn a_client_that_gives_up_got_no_answer() {
        for flags in [Flags::FIN.with(Flags::ACK), Flags::RST] {
            let finding = judge(&gives_up(flags)).unwrap();
            assert_eq!((finding.class, finding.waiting_for), (Class::Unanswered, Actor::Server));
        }
    }

    #[test]
    fn a_client_that_only_sends_asks_nothing() {
        assert_eq!(judge(&Gap { one_way: true, ..gives_up(Flags::RST) }), None);
    }

    #[test]
    fn a_client_that_closes_after_an_answer_has_one() {
        assert_eq!(judge(&Gap { last_word: LastWord::Other, ..gives_up(Flags::RST) }), None);
    }
}
