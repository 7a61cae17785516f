//! Readers of network input, as fuzz targets call them. Each panics on an impossible result.

pub use crate::generate::fuzzed::{dns_reply, http1_answers, http2_answers};
pub use crate::service::fuzzed::smtp_commands;

use crate::smtp::dialog::{Dialog, Next};

/// Reads any bytes as replies of an SMTP server, in pieces of `piece` bytes.
pub fn smtp_replies(bytes: &[u8], piece: usize, recipients: u32) {
    let names = vec!["to@plimsoll.example"; recipients as usize];
    let mut dialog = Dialog::default();
    dialog.first(recipients);
    for piece in bytes.chunks(piece.max(1)) {
        let mut commands = String::new();
        match dialog.receive(piece, true, |_| ()) {
            Err(_) | Ok(Next::Done { stays: false, .. }) => return,
            Ok(Next::Listen | Next::Text) => {}
            Ok(Next::Command) => {
                dialog.commands("from@plimsoll.example", &names, &mut commands);
                assert!(commands.ends_with("\r\n"), "{commands:?}");
            }
            Ok(Next::Done { .. }) => {
                assert!(dialog.refused_recipients() <= recipients);
                dialog.begin(recipients);
            }
        }
    }
}
