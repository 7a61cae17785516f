#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e Kiln.class ] || javac Kiln.java || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
