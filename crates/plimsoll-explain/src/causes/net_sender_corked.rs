//! `net.sender_corked`: The sender's kernel holds a partial segment back until more data comes (Nagle, `TCP_CORK`, `MSG_MORE`; up to 200 ms in Linux).

use plimsoll_model::cause::{Cause, CauseId};
use plimsoll_model::experiment::Experiment;
use plimsoll_model::trace::Class;
use serde_json::json;

use super::{Change, Definition, Known, Page, by_stalls, changes};

pub(super) const DEFINITION: Definition = Definition::new(
    Page {
        evidence_for: "part of a segment leaves some 200 ms late, with nothing in flight and an open window",
        evidence_against: "the pauses have no common length, so the program had nothing to send",
        test: "mark the last bytes as final (no MSG_MORE, no SPLICE_F_MORE, release the cork): the stalls disappear",
        remedy: "release the cork, or omit MSG_MORE and SPLICE_F_MORE in the last call",
    },
    find,
)
.confirmed_by(change);

/// What the packets must show.
const STALLS: by_stalls::Signature = by_stalls::Signature {
    classes: &[Class::SenderHeld],
    counters: &[],
    is_counted: true,
    required: None,
    window: false,
};

fn find(known: &Known<'_>) -> Vec<Cause> {
    by_stalls::named(CauseId::NetSenderCorked, &STALLS, known.stalls).into_iter().collect()
}

fn change(experiment: &Experiment) -> Change {
    let spliced = changes::settings_named(experiment, "by")
        .filter(|(_, value)| value == "splice_more")
        .map(|(path, _)| (path, json!("splice")));
    let released = experiment.loads.iter().filter_map(|(name, load)| {
        let kind = serde_json::to_value(&load.kind).ok()?;
        let (path, value) = changes::setting("loads", name, &kind, "release")?;
        (value == false).then(|| (path, json!(true)))
    });
    changes::set("without SPLICE_F_MORE on the last bytes", spliced.chain(released))
}
