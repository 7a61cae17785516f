//! The server spoke last, or neither side yet, and the client ended the silence; or the client closed a connection on which
//! it only sends.

use crate::stalls::gap::{Gap, LastWord};
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, ended_by};

pub(super) fn judge(gap: &Gap) -> Option<Finding> {
    let closes = gap.segment.payload == 0;
    let after = match gap.last_word {
        _ if !gap.by_client => return None,
        LastWord::Other => "the server's data",
        LastWord::None => "the handshake",
        LastWord::Own if closes => "its own data",
        LastWord::Own => return None,
    };
    Some(Finding {
        class: Class::ClientIdle,
        waiting_for: Actor::Client,
        evidence: format!("{} of the client came {:.1} ms after {after}", ended_by(gap), ms(gap.length())),
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
}
