//! Journals planted by another user: the doctor trusts only its own user's.

use crate::lab::Lab;

/// Makes private mounts, so that runs do not see each other's journals. `$NOBODY` runs a command as another user; `$JOURNAL` is the journal's name
/// of an ended process, and `$LINES` its contents.
const BEFORE: &str = r#"
set -eu
export PLACE="$PWD"
mkdir "$PLACE/victim" && echo kept > "$PLACE/victim/file"
mkdir "$PLACE/victim/plimsoll-disk-1-0123abcd" && echo kept > "$PLACE/victim/plimsoll-disk-1-0123abcd/file"
NOBODY="setpriv --reuid=65534 --regid=65534 --clear-groups"
JOURNAL="8388608:1:$(readlink /proc/self/ns/pid | tr -dc 0-9)"
EXPIRES=$(cat /proc/sys/vm/dirty_expire_centisecs)
setting() { echo "{\"setting\":{\"path\":\"$1\",\"before\":\"$2\",\"namespace\":null}}"; }
folder() { echo "{\"folder\":{\"path\":\"$1\",\"identity\":$2}}"; }
LINES="$(setting /proc/sys/vm/dirty_expire_centisecs $((EXPIRES + 1)))
$(setting "$PLACE/victim/file" gone)
$(folder "$PLACE/victim" null)
$(folder "$PLACE/victim/plimsoll-disk-1-0123abcd" null)"
unchanged() {
    test "$(cat /proc/sys/vm/dirty_expire_centisecs)" = "$EXPIRES"
    test "$(cat "$PLACE/victim/file")" = kept
    test "$(cat "$PLACE/victim/plimsoll-disk-1-0123abcd/file")" = kept
}
"#;

/// Runs a script as root in mounts of its own, where `/tmp` and `/run` are empty.
fn in_own_places(lab: &Lab, script: &str) -> crate::lab::Printed {
    // The lab's own folder is below /tmp, so it is kept in sight elsewhere.
    let outer = format!(
        r#"
here=$(mktemp -d /var/tmp/plimsoll-test.XXXXXX)
trap 'rmdir "$here"' EXIT
cat > script <<'END'
{BEFORE}
{script}
END
unshare --mount sh -c 'mount --bind . "$0" && mount -t tmpfs -o mode=1777 none /tmp && mount -t tmpfs none /run && cd "$0" && HOME="$0" XDG_STATE_HOME="$0/state" sh script' "$here"
"#
    );
    lab.script(&outer)
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn roots_doctor_does_nothing_that_another_user_planted() {
    let lab = Lab::of_root();
    let output = in_own_places(
        &lab,
        r#"
$NOBODY sh -c "mkdir /tmp/plimsoll-0 && echo '$LINES' > /tmp/plimsoll-0/$JOURNAL"
"$PLIMSOLL" doctor
unchanged
"#,
    );
    output
        .exits(0)
        .prints("leftovers none")
        .prints("/tmp/plimsoll-0 belongs to user 65534, and not to user 0");
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn what_roots_own_journal_could_have_been_made_of_by_others_is_not_believed_either() {
    let lab = Lab::of_root();
    let output = in_own_places(
        &lab,
        r#"
# A folder of root's that others may write to, with their file in it.
mkdir -m 777 /tmp/plimsoll-0
$NOBODY sh -c "umask 077; echo '$LINES' > /tmp/plimsoll-0/$JOURNAL"
"$PLIMSOLL" doctor
unchanged
# A private one, with a file that others have a name for, one that is a pipe, and one that is huge.
chmod 700 /tmp/plimsoll-0
rm /tmp/plimsoll-0/*
(umask 077; echo "$LINES" > /tmp/plimsoll-0/$JOURNAL; ln /tmp/plimsoll-0/$JOURNAL /tmp/second)
(umask 077; mkfifo /tmp/plimsoll-0/8388609${JOURNAL#8388608})
(umask 077; truncate -s 3G /tmp/plimsoll-0/8388610${JOURNAL#8388608})
ln -s "$PLACE/victim/file" /tmp/plimsoll-0/8388611${JOURNAL#8388608}
timeout 60 "$PLIMSOLL" doctor
unchanged
"#,
    );
    output
        .exits(0)
        .prints("others may use /tmp/plimsoll-0 (its mode is 0777, expected was 0700)")
        .prints("it has 2 names")
        .prints("it is no regular file")
        .prints("bytes, expected were at most")
        .prints("a symbolic link, or a file, is on the way");
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn lines_of_roots_own_journal_that_plimsoll_does_not_write_are_reported_and_not_done() {
    let lab = Lab::of_root();
    let output = in_own_places(
        &lab,
        r#"
mkdir -m 700 /run/plimsoll
mkdir "$PLACE/plimsoll-disk-1-0123abcd" && ln -s "$PLACE/victim" /tmp/link
(umask 077; { echo "$LINES"; setting /proc/sys/kernel/core_pattern "|/tmp/mine"
    folder /tmp/link/plimsoll-disk-1-0123abcd "[0,0]"; folder "$PLACE/plimsoll-disk-1-0123abcd" null; } > /run/plimsoll/$JOURNAL)
# The first line is one that Plimsoll could have written, and root alone can write there.
sed -i 1d /run/plimsoll/$JOURNAL
"$PLIMSOLL" doctor && exit 1
unchanged
test -e /run/plimsoll/$JOURNAL
test ! -e "$PLACE/plimsoll-disk-1-0123abcd"
"#,
    );
    output
        .exits(0)
        .prints("leftovers 3")
        .prints("its name is none that Plimsoll gives")
        .prints("core_pattern")
        .says("8388608");
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_run_keeps_no_journal_where_somebody_else_could_change_it() {
    let lab = Lab::of_root().allowing("machine");
    let output = in_own_places(
        &lab,
        r#"
mount -t tmpfs -o ro none /run
SWAPPINESS=$(cat /proc/sys/vm/swappiness)
$NOBODY mkdir -m 777 /tmp/plimsoll-0
printf '%s\n' 'question = "?"' '[hosts.a]' "sysctls = { \"vm.swappiness\" = $((SWAPPINESS + 1)) }" \
    '[services.web]' 'on = "a"' 'web = {}' '[loads.few]' 'from = "a"' 'to = "web"' 'http = { duration = "100ms" }' \
    '[[phases]]' 'name = "all"' 'measure = "few"' '[run]' 'max_trials = 1' > settings.toml
"$PLIMSOLL" run settings.toml && exit 1
test "$(cat /proc/sys/vm/swappiness)" = "$SWAPPINESS"
# An odd mask and other places for temporary files make no difference.
umount /run
umask 0777
TMPDIR=/nowhere "$PLIMSOLL" run settings.toml
test "$(cat /proc/sys/vm/swappiness)" = "$SWAPPINESS"
test "$(stat -c %a /run/plimsoll)" = 700
test "$(ls /run/plimsoll)" = locks
test -z "$(cat /run/plimsoll/locks/*)"
"#,
    );
    output.exits(0).says("/tmp/plimsoll-0 belongs to user 65534, and not to user 0");
}
