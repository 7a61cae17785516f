#!/bin/sh
# Packs a program that is built already into a Debian package: packaging/debian.sh PROGRAM ARCHITECTURE FOLDER [PRINTS [LICENCES]]
#
# `cargo xtask deb` calls it with the static program; a story calls it with the program of the tests. Nothing but dpkg and gzip is needed, and no root. What
# is generated (manual, completions, unit) the program itself prints, or PRINTS, the same one for this machine, where it is one for another architecture.
# LICENCES is a text with those of the crates that it is made of.
# The same program and the same SOURCE_DATE_EPOCH give the same package. DEBFULLNAME and DEBEMAIL name who answers for it, as in Debian's own tools.
set -eu

program=$(realpath "$1")
architecture=$2
folder=$(realpath "$3")
prints=$(realpath "${4:-$1}")
project=$(realpath "$(dirname "$0")/..")

version=$("$prints" --version | cut -d' ' -f2)-1
maintainer="${DEBFULLNAME:-The Plimsoll developers} <${DEBEMAIL:-plimsoll@packages.invalid}>"
: "${SOURCE_DATE_EPOCH:=$(git -C "$project" log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH

umask 022
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/plimsoll
share=$root/usr/share
documents=$share/doc/plimsoll
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/lib/systemd/system" "$share/man/man1" "$share/bash-completion/completions" \
    "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d" "$share/lintian/overrides" "$documents/examples"

install -m 755 "$program" "$root/usr/bin/plimsoll"
"$prints" man | gzip -9n >"$share/man/man1/plimsoll.1.gz"
"$prints" completions bash >"$share/bash-completion/completions/plimsoll"
"$prints" completions zsh >"$share/zsh/vendor-completions/_plimsoll"
"$prints" completions fish >"$share/fish/vendor_completions.d/plimsoll.fish"
# The unit names the program by where it stands now, and tells in its first line how it is installed.
"$prints" watch --unit | sed -e 1d -e 's|^ExecStart="[^"]*"|ExecStart=/usr/bin/plimsoll|' >"$root/lib/systemd/system/plimsoll-watch.service"

cp -r "$project/README.md" "$project/docs" "$documents"
cp -r "$project/experiments" "$documents/examples"
gzip -9n <"$project/CHANGELOG.md" >"$documents/changelog.gz"
[ -z "${5:-}" ] || gzip -9n <"$5" >"$documents/licences-of-crates.gz"
gzip -9n >"$documents/changelog.Debian.gz" <<END
plimsoll ($version) unstable; urgency=medium

  * What has changed is told in changelog.gz.

 -- $maintainer  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: Plimsoll\n'
    printf 'Comment: The program holds crates of others, whose licences stand in licences-of-crates.gz.\n\nFiles: *\n'
    printf 'Copyright: %s\nLicense: Expat\n' "$(sed -n 's/^Copyright (c) //p' "$project/LICENSE")"
    # What stands behind the line of the copyright, as a field of more than one paragraph.
    sed -e '1,/^Copyright/d' "$project/LICENSE" | sed -e 1d -e 's/^$/./' -e 's/^/ /'
} >"$documents/copyright"
cat >"$share/lintian/overrides/plimsoll" <<END
# It runs on any Linux of its architecture, and is sent to machines that have other libraries.
plimsoll: shared-library-lacks-prerequisites [usr/bin/plimsoll]
# It starts itself again for every agent, service and load; a fixed address makes each start quicker.
plimsoll: hardening-no-pie [usr/bin/plimsoll]
# saphyr, which reads compose files, has the messages of libyaml, and none of its code.
plimsoll: embedded-library libyaml [usr/bin/plimsoll]
# It is not uploaded to Debian.
plimsoll: initial-upload-closes-no-bugs *
END

size=$(du -k -s --apparent-size --exclude=DEBIAN "$root" | cut -f1)
cat >"$root/DEBIAN/control" <<END
Package: plimsoll
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
Suggests: iproute2, nftables, openssh-client, qemu-system-x86
Section: utils
Priority: optional
Description: load experiments: what a system carries, and what holds it down
 Plimsoll answers from one file and one command how much a Linux system
 carries, whether it comes back up after a flood, and what is holding it down.
 It makes hosts in network namespaces, starts what is under test, drives load,
 samples the kernel, repeats in random order against a control, and says what
 it found and how sure it is. A bad measurement is called invalid.
 .
 No root is needed where user namespaces are allowed. The unit
 plimsoll-watch.service, which keeps what a machine does over weeks, is not
 enabled.
END
(cd "$root" && find usr lib -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod 644 "$root/DEBIAN/md5sums"

package=$folder/plimsoll_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >&2
echo "$package"
