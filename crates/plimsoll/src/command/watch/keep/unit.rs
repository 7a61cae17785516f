//! The systemd unit under which weeks are kept (systemd.service(5), systemd.exec(5)).

use std::time::Duration;

use plimsoll_model::units::ByteSize;

use crate::failure::Failure;
use crate::output;

/// Prints the unit for this very program.
pub(crate) fn print(keep: Duration, bound: ByteSize) -> Result<(), Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::could_not(format!("this program's own path cannot be read: {error}")))?;
    let text = text(&program.display().to_string(), keep.as_secs() / 86_400, bound);
    output::document(|out| out.write_all(text.as_bytes()))
}

/// The service may read what every user may, of other processes too, and write to its own folder alone. It needs netlink (sock_diag(7)) in the
/// machine's own network, and no address of any network.
fn text(program: &str, days: u64, bound: ByteSize) -> String {
    // systemd takes `%` for the start of a specifier, and words apart at blanks.
    let program = program.replace('%', "%%").replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "# systemd unit: plimsoll watch --unit | sudo tee /etc/systemd/system/plimsoll-watch.service
#   sudo systemctl daemon-reload && sudo systemctl enable --now plimsoll-watch
#   what it found: journalctl -u plimsoll-watch, or plimsoll watch --kept /var/lib/plimsoll/weeks.sqlite
[Unit]
Description=What this machine does, kept for {days} days (Plimsoll)
Documentation=man:plimsoll(1)

[Service]
ExecStart=\"{program}\" watch --keep {days}d --bound {bound} --into /var/lib/plimsoll/weeks.sqlite
StateDirectory=plimsoll
DynamicUser=yes
Restart=on-failure
Nice=5
UMask=0077
ProtectSystem=strict
ProtectHome=read-only
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateDevices=yes
PrivateTmp=yes
KeyringMode=private
RemoveIPC=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
RestrictAddressFamilies=AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
IPAddressDeny=any
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
MemoryDenyWriteExecute=yes
MemoryMax=200M

[Install]
WantedBy=multi-user.target
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_one_word_whatever_its_path() {
        let unit = text("/opt/50% \"fast\"/plimsoll", 400, ByteSize(100 << 20));
        let start = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert_eq!(
            start,
            "ExecStart=\"/opt/50%% \\\"fast\\\"/plimsoll\" watch --keep 400d --bound 100M --into /var/lib/plimsoll/weeks.sqlite"
        );
    }
}
