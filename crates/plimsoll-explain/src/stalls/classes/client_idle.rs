//! The server spoke last, or nobody yet, and the client ended the silence; or whoever closed a connection on which the
//! client had asked nothing more.

use crate::stalls::gap::{Gap, LastWord};
use crate::stalls::time::ms;
use plimsoll_model::trace::{Actor, Class};

use super::{Finding, ended_by};

pub(super) fn judge(gap: &Gap) -> Option<Finding> {
    let closes = gap.segment.payload == 0;
    let after = match (gap.by_client, gap.last_word) {
        (true, LastWord::Other) => "the server's data",
        (_, LastWord::None) => "the handshake",
        (false, LastWord::Own) if closes => "the server's data",
        (true, LastWord::Own) if closes && !gap.server_spoke => "its own data",
        _ => return None,
    };
    let who = if gap.by_client { "client" } else { "server" };
    Some(Finding {
        class: Class::ClientIdle,
        waiting_for: Actor::Client,
        evidence: format!("{} of the {who} came {:.1} ms after {after}", ended_by(gap), ms(gap.length())),
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::packet::Flags;

    use super::super::fixture::gap;
    use super::*;

    #[test]
    fn a_request_long_after_an_answer_is_the_clients() {
        let finding = judge(&Gap { by_client: true, last_word: LastWord::Other, ..gap() }).unwrap();
        assert_eq!((finding.class, finding.waiting_for), (Class::ClientIdle, Actor::Client));
    }

    #[test]
    fn a_server_that_closes_an_idle_connection_waited_for_the_client() {
        let mut gap = gap();
        gap.segment.payload = 0;
        gap.segment.flags = Flags::FIN.with(Flags::ACK);
        assert_eq!(judge(&gap).unwrap().waiting_for, Actor::Client);
    }

    #[test]
    fn an_answer_is_not_the_clients() {
        assert_eq!(judge(&Gap { last_word: LastWord::Other, ..gap() }), None);
    }
}
