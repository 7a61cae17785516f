#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e post ] || gcc -O1 -g -pthread -o post post.c || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
