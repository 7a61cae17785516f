//! A machine with nothing on it but the program: no shell, no tools, no user database.

use crate::lab::Lab;

/// Runs the program for an ordinary user where there is no other, and no file but the libraries that it is linked with. The root has to be a mount, as
/// that of a container is.
const BARE: &str = r#"
set -e
root=$PWD/root
mkdir -p $root/proc $root/dev $root/sys $root/tmp $root/home
cp --parents --dereference $PLIMSOLL $(ldd $PLIMSOLL | grep -o '/[^ ]*') $root
exec unshare --user --map-root-user --mount --pid --fork sh -c "
    mount --bind $root $root && mount --rbind /dev $root/dev && mount --rbind /sys $root/sys && mount -t proc none $root/proc &&
    exec env -i HOME=/home /usr/sbin/chroot $root $PLIMSOLL run flood-relay --quick --yes"
"#;

#[test]
fn on_a_machine_with_nothing_else_an_ordinary_user_gets_the_main_verdict() {
    let lab = Lab::of_ordinary_user();
    lab.script(BARE).exits(0).prints("Recovered.");
}
