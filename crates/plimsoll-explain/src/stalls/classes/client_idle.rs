//! The server spoke last, or neither side yet, and the client ended the silence; or the client closed a connection on which
//! it only sends. Also a server that closes a connection on which no request came.

use crate::stalls::gap::{Gap, LastWord};
use crate::stalls::time::{MILLISECOND, SECOND, ms};
use plimsoll_model::trace::{Actor, Class};

use plimsoll_model::packet::Flags;

use super::{Finding, ended_by};

/// How much earlier than a timeout of whole seconds, and later, a FIN may be seen.
const EARLY: u64 = 10 * MILLISECOND;
const LATE: u64 = 25 * MILLISECOND;

/// The shortest timeout, in seconds, that servers have for idle connections by default: those of Apache (`KeepAliveTimeout`) and of Node.
const SHORTEST_TIMEOUT: u64 = 5;

/// Answers after which the client is taken to keep the connection for more requests. A dialogue may have two (`Expect: 100-continue`).
const KEPT_ALIVE: u32 = 3;

/// A server that closed although no request was unanswered.
pub(super) struct Idle {
    pub(super) finding: Finding,
    /// Whether the client keeps the connection for requests, or the time is that of a keep-alive timeout. Otherwise the FIN may as
    /// well be the end of the answer.
    pub(super) is_likely: bool,
}

/// The server's FIN after its own data, while the client might have sent another request.
pub(super) fn judge_closed(gap: &Gap) -> Option<Idle> {
    let is_fin =
        gap.segment.payload == 0 && gap.segment.flags.has(Flags::FIN) && !gap.segment.flags.has(Flags::RST);
    let is_server = !gap.by_client && gap.last_word == LastWord::Own;
    if !is_fin || !is_server || gap.other_closed || gap.one_way || gap.answered == 0 || gap.in_flight > 0 {
        return None;
    }
    let whole = (gap.length() + EARLY) / SECOND;
    let is_timeout = whole >= SHORTEST_TIMEOUT && (gap.length() + EARLY) % SECOND <= EARLY + LATE;
    let timeout =
        if is_timeout { format!(", as after a keep-alive timeout of {whole} s") } else { String::new() };
    Some(Idle {
        is_likely: is_timeout || gap.answered >= KEPT_ALIVE,
        finding: Finding {
            class: Class::ClientIdle,
            waiting_for: Actor::Client,
            evidence: format!(
                "the client sent no further request, and the server closed the idle connection {:.1} ms after its last data{timeout}",
                ms(gap.length())
            ),
        },
    })
}

pub(super) fn judge(gap: &Gap) -> Option<Finding> {
    let closes = gap.segment.payload == 0;
    let after = match gap.last_word {
        _ if !gap.by_client => return None,
        LastWord::Other => "the server's data",
        LastWord::None => "the handshake",
        LastWord::Own if closes => "its last data",
        LastWord::Own => return None,
    };
    Some(Finding {
        class: Class::ClientIdle,
        waiting_for: Actor::Client,
        evidence: format!("the client sent {} {:.1} ms after {after}", ended_by(gap), ms(gap.length())),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::gap;
    use super::*;

    #[test]
    fn a_request_long_after_an_answer_is_the_clients() {
        let finding = judge(&Gap { by_client: true, last_word: LastWord::Other, ..gap() }).unwrap();
        assert_eq!((finding.class, finding.waiting_for), (Class::ClientIdle, Actor::Client));
    }

    #[test]
    fn an_answer_is_not_the_clients() {
        assert_eq!(judge(&Gap { last_word: LastWord::Other, ..gap() }), None);
    }

    /// The server's FIN `length` milliseconds after its data, on a connection with `answered` answers.
    fn closed(length: u64, answered: u32) -> Gap {
        let mut gap = Gap { end: length * MILLISECOND, answered, ..gap() };
        gap.segment.payload = 0;
        gap.segment.flags = Flags::FIN.with(Flags::ACK);
        gap
    }

    #[test]
    fn a_server_that_closes_after_whole_seconds_or_several_answers_ends_an_idle_connection() {
        for (length, answered, is_likely) in [
            (5003, 1, true),
            (14_998, 1, true),
            (1003, 1, false),
            (400, 3, true),
            (400, 1, false),
            (1500, 1, false),
        ] {
            assert_eq!(judge_closed(&closed(length, answered)).unwrap().is_likely, is_likely, "{length} ms");
        }
    }

    #[test]
    fn a_server_that_closes_later_than_its_client_was_not_idle() {
        assert!(judge_closed(&Gap { other_closed: true, ..closed(5000, 3) }).is_none());
        assert!(judge_closed(&Gap { last_word: LastWord::Other, ..closed(5000, 3) }).is_none());
    }
}
