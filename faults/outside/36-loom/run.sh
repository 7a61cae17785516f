#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -d conf ] || { mkdir conf && for i in $(seq 30); do seq $i 200 > conf/s$i.ini; done && echo x > conf/main.ini; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
