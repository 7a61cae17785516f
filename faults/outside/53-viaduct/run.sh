#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e watch ] || gcc -O1 -o watch watch.c || exit 3
[ -d docs ] || { mkdir docs other && for i in $(seq 300); do seq $i $((i+900)) > docs/$i; done; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
