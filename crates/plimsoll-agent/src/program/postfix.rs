//! Postfix: <https://www.postfix.org/postconf.5.html>.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plimsoll_model::experiment::PostfixService;
use plimsoll_model::frame::Failure;
use plimsoll_model::units::Span;

use super::{About, FOLDER, Program, Recipe, Site, open_to_all, write};
use crate::other;
use crate::sandbox::Kind;

/// How often master(8) wakes the queue manager at least, in seconds, as it comes (master.cf).
const WAKEUP: u64 = 300;
/// The services of a relay beside its smtpd and its queue manager: name, type, then private, unprivileged, chroot, wakeup, maxproc and
/// command, as in master(5).
const SERVICES: &str = "pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
";

/// Makes the folder of the queue, which others may look into, because parts of Postfix work as other users. One that is there already is
/// left as it is.
fn make_queue(queue: &Path) -> Result<(), Failure> {
    let (folder, was_missing) = crate::folder::queue("`postfix.queue`", queue)?;
    if was_missing {
        return open_to_all(&folder.handle());
    }
    let about = fs::metadata(folder.handle())
        .map_err(|error| other(format!("look at {}", queue.display()), error))?;
    if about.permissions().mode() & 0o005 == 0o005 {
        return Ok(());
    }
    let why = "it exists already, and not all users may read the folder; it is left unchanged";
    Err(other(format!("keep the queue of Postfix in {}", queue.display()), why))
}

/// The facts about Postfix.
const ABOUT: About = About {
    programs: &["postfix"],
    package: "postfix",
    args: &["-c", FOLDER, "start-fg"],
    file: "main.cf",
    version: (&["postconf"], "-dh mail_version"),
    kind: Kind::Postfix,
};

impl Program for PostfixService {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn recipe(&self, place: &Site<'_>) -> Result<Recipe, Failure> {
        if place.single_user {
            let what = "start Postfix, which works as several users and needs root".into();
            let needs = "CAP_SETUID over several users, and this user namespace has but one";
            return Err(Failure::Permission { what, needs: Some(needs.into()) });
        }
        let to = place.to.first();
        let to = to.ok_or_else(|| other("start Postfix", "there is nothing that it could relay to"))?;
        let queue = self.queue.as_ref().map(PathBuf::from);
        let queue = queue.unwrap_or_else(|| place.kept.unwrap_or(place.folder).join("queue"));
        make_queue(&queue)?;
        let seconds = |span: Span| span.0.as_secs().max(1);
        let PostfixService { processes, queue_run, retry, retry_most, max_message, .. } = self;
        let (queue_run, retry, retry_most) = (seconds(*queue_run), seconds(*retry), seconds(*retry_most));
        // A message whose file is still locked at its retry goes back to the incoming queue for a minute (qmgr_active.c). The queue manager
        // scans that queue when it is woken.
        let wakeup = queue_run.min(WAKEUP);
        let master =
            format!("{} inet n - n - - smtpd\nqmgr unix n - n {wakeup} 1 qmgr\n{SERVICES}", place.listen);
        write(&place.folder.join("master.cf"), master.as_bytes())?;
        // All hosts of the experiment may relay; nothing is delivered here.
        let mut configuration = format!(
            "compatibility_level = 3.6
queue_directory = {}
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
myhostname = relay.plimsoll.example
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
inet_interfaces = all
inet_protocols = ipv4
mynetworks = 0.0.0.0/0
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_peername_lookup = no
smtpd_client_connection_count_limit = 0
smtp_dns_support_level = disabled
relayhost = [{}]:{}
default_process_limit = {processes}
queue_run_delay = {queue_run}s
minimal_backoff_time = {retry}s
maximal_backoff_time = {retry_most}s
transport_retry_time = {retry}s
message_size_limit = {}
",
            queue.display(),
            to.ip(),
            to.port(),
            max_message.0,
            folder = place.path(),
        );
        for (name, value) in &self.settings {
            writeln!(configuration, "{name} = {value}").expect("a string can be written to");
        }
        Ok(Recipe {
            configuration,
            // The master starts each part as that part's user, and gives it the queue.
            writable: Some(queue),
            visible: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_somebody_else_made_is_not_opened_to_all() {
        let parent = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let own = parent.path().join("deep/queue");
        make_queue(&own).unwrap();
        make_queue(&own).unwrap();
        assert_eq!(mode(&own), 0o755);
        let foreign = parent.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        fs::set_permissions(&foreign, fs::Permissions::from_mode(0o700)).unwrap();
        let error = make_queue(&foreign).unwrap_err().to_string();
        assert!(error.contains("left unchanged"), "{error}");
        assert_eq!(mode(&foreign), 0o700);
    }
}
