#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e walk ] || gcc -O2 -g -o walk walk.c || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
