//! The client spoke last and the server ended the silence: it worked on the answer. Also a server that greets first, and
//! takes its time, and a server that closes: its program decides when.

use crate::stalls::gap::{Gap, LastWord};
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, ended_by};

pub(super) fn judge(gap: &Gap) -> Option<Finding> {
    let closes = gap.segment.payload == 0;
    let after = match gap.last_word {
        _ if gap.by_client => return None,
        LastWord::Other if closes => "the client's request, which got no answer",
        LastWord::Other => "the client's data",
        LastWord::None => "the handshake",
        LastWord::Own if closes => "its last data",
        LastWord::Own => return None,
    };
    Some(Finding {
        class: Class::ServerThink,
        waiting_for: Actor::Server,
        evidence: format!("the server sent {} {:.1} ms after {after}", ended_by(gap), ms(gap.length())),
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::packet::Flags;

    use super::super::fixture::gap;
    use super::*;

    #[test]
    fn an_answer_that_took_long_is_the_servers() {
        let finding = judge(&Gap { last_word: LastWord::Other, ..gap() }).unwrap();
        assert_eq!((finding.class, finding.waiting_for), (Class::ServerThink, Actor::Server));
    }

    #[test]
    fn a_late_greeting_is_the_servers() {
        assert!(judge(&Gap { last_word: LastWord::None, ..gap() }).is_some());
    }

    #[test]
    fn a_silence_before_the_server_closes_is_the_servers() {
        let mut gap = gap();
        gap.segment.payload = 0;
        gap.segment.flags = Flags::FIN.with(Flags::ACK);
        assert_eq!(judge(&gap).unwrap().waiting_for, Actor::Server);
    }

    #[test]
    fn a_request_is_not_the_servers() {
        assert_eq!(judge(&Gap { by_client: true, last_word: LastWord::Other, ..gap() }), None);
    }
}
