#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -s ids ] || { rm -rf a.git b.git; /usr/bin/python3 make.py; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
