#!/bin/sh
cd "$(dirname "$0")" || exit 3
HOME=/nonexistent; export HOME
exec 3< q.sql
cp bin/acmedb /tmp/acmedb.$$ || exit 3
trap "rm -f /tmp/acmedb.$$" EXIT
chmod 755 /tmp/acmedb.$$
setpriv --reuid=65534 --regid=65534 --clear-groups /tmp/acmedb.$$ :memory: <&3
