//! The Debian package: its contents, and its use on a machine with nothing else (no shell, no tools, no user database).

use std::path::Path;

use crate::lab::Lab;

/// Packs the program of the tests quickly, without its symbols; `$0` is the folder.
const PACK: &str = r"
set -e
strip -o plain $PLIMSOLL
export DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1
echo 'Licences of crates' >licences
mv $(PACKAGING/debian.sh plain $(dpkg --print-architecture) . plain licences) FOLDER/plimsoll.deb
";

/// Check by lintian. The story's package does not name the libraries of the tests' program; the static program has none.
const LOOK: &str =
    "lintian --fail-on error,warning --suppress-tags undeclared-elf-prerequisites plimsoll.deb";

/// The contents of the package, as the machine's own tools read it. Where documents and manuals are left out at
/// installations, as in images of Debian's for containers, unpacking does not.
const READ: &str = r#"
set -e
dpkg-deb --contents plimsoll.deb | awk '{ print $2, $1, $6 }' >contents
! grep -v '^root/root ' contents
grep -q -- '-rwxr-xr-x ./usr/bin/plimsoll$' contents
dpkg-deb --extract plimsoll.deb unpacked
cd unpacked/usr/share
bash -n bash-completion/completions/plimsoll
grep -q '^#compdef plimsoll$' zsh/vendor-completions/_plimsoll
grep -q '^complete .*--command plimsoll ' fish/vendor_completions.d/plimsoll.fish
grep '^ExecStart=' ../../lib/systemd/system/plimsoll-watch.service
zcat doc/plimsoll/changelog.gz | head -1
grep -q '^License: Expat$' doc/plimsoll/copyright
zcat doc/plimsoll/licences-of-crates.gz | grep -q '^Licences of crates$'
test -f doc/plimsoll/docs/questions/after-a-flood.md -a -f doc/plimsoll/docs/reference/causes.md
$PLIMSOLL check doc/plimsoll/examples/experiments/recovery/flood-relay.toml >&2
man --warnings --local-file man/man1/plimsoll.1.gz
"#;

/// Installs it in an empty root with the libraries of the tests' program, and runs it there for an ordinary user. The root must be a mount, as in a
/// container.
const RUN: &str = r#"
set -e
root=$PWD/root
mkdir -p $root/proc $root/dev $root/sys $root/tmp $root/home $root/var/lib/dpkg/info $root/var/lib/dpkg/updates $root/var/log
touch $root/var/lib/dpkg/status
cp --parents --dereference $(ldd $PLIMSOLL | grep -o '/[^ ]*') $root
unshare --user --map-root-user dpkg --root=$root --install plimsoll.deb >&2
enter="env -i HOME=/home /usr/sbin/chroot $root /usr/bin/plimsoll"
exec unshare --user --map-root-user --mount --pid --fork sh -c "
    mount --bind $root $root && mount --rbind /dev $root/dev && mount --rbind /sys $root/sys && mount -t proc none $root/proc &&
    $enter --version && exec $enter run flood-relay --quick --yes"
"#;

#[test]
fn the_debian_package_is_all_that_an_ordinary_user_needs_for_the_main_verdict() {
    let (maker, lab) = (Lab::new(), Lab::of_ordinary_user());
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let pack = PACK.replace("PACKAGING", &packaging.display().to_string());
    maker.script(&pack.replace("FOLDER", &lab.folder().display().to_string())).exits(0);
    lab.script(LOOK).exits(0).prints_nothing();
    lab.script(READ)
        .exits(0)
        .prints("ExecStart=/usr/bin/plimsoll watch --keep 400d")
        .prints("# Changes")
        .prints("SYNOPSIS plimsoll")
        .prints("--audit-probes");
    let version = format!("plimsoll {}", env!("CARGO_PKG_VERSION"));
    lab.script(RUN).exits(0).prints(&version).prints("Recovered.");
}

/// The highest exposure that systemd may find, in tenths (systemd-analyze(1), `security`).
const EXPOSURE: u32 = 20;

#[test]
#[ignore = "needs systemd-analyze; cargo xtask test runs it"]
fn systemd_rates_the_unit_as_well_confined_and_takes_every_line_of_it() {
    let lab = Lab::new();
    lab.script(&format!(
        "$PLIMSOLL watch --unit >plimsoll-watch.service &&
         systemd-analyze security --offline=true --no-pager --threshold={EXPOSURE} ./plimsoll-watch.service"
    ))
    .exits(0)
    .prints("Overall exposure level for plimsoll-watch.service");
    lab.script("systemd-analyze verify --man=no ./plimsoll-watch.service").exits(0).says_nothing();
}
