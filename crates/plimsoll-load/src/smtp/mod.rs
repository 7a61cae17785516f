//! SMTP (RFC 5321) as generator, relay and sink share it, without any knowledge of sockets and time.

pub(crate) mod dialog;
pub(crate) mod ledger;
pub(crate) mod stamp;
pub(crate) mod text;

/// The longest line of a command or reply that is taken, in bytes (RFC 5321, section 4.5.3.1, allows 512; extensions may need more).
pub(crate) const LONGEST_LINE: usize = 4096;
