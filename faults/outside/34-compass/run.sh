#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e bin/acmedb ] || { mkdir -p bin && cp "$(command -v sqlite3)" bin/acmedb && chmod 755 . bin bin/acmedb; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
