//! The client spoke last and the server ended the silence: it worked on the answer. Also a server that greets first, and
//! takes its time.

use crate::stalls::gap::{Gap, LastWord};
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, ended_by};

pub(super) fn judge(gap: &Gap) -> Option<Finding> {
    let after = match (gap.by_client, gap.last_word) {
        (false, LastWord::Other) => "the client's data",
        (false, LastWord::None) if gap.segment.payload > 0 => "the handshake",
        // The client gave up.
        (true, LastWord::Own) if gap.segment.payload == 0 && gap.server_spoke => "the client's data",
        _ => return None,
    };
    let who = if gap.by_client { "client" } else { "server" };
    Some(Finding {
        class: Class::ServerThink,
        waiting_for: Actor::Server,
        evidence: format!("{} of the {who} came {:.1} ms after {after}", ended_by(gap), ms(gap.length())),
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
    fn a_client_that_gives_up_waited_for_the_server() {
        let mut gap = Gap { by_client: true, ..gap() };
        gap.segment.payload = 0;
        gap.segment.flags = Flags::FIN.with(Flags::ACK);
        assert_eq!(judge(&gap).unwrap().waiting_for, Actor::Server);
    }

    #[test]
    fn a_request_is_not_the_servers() {
        assert_eq!(judge(&Gap { by_client: true, last_word: LastWord::Other, ..gap() }), None);
    }
}
