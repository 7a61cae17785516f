#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e app/Sort.class ] || { mkdir -p app && javac -d app Sort.java; } || exit 3
[ -e lib12/q ] || for i in $(seq 12); do mkdir -p lib$i; touch lib$i/q; done
exec plimsoll compare --explain ./good.sh ./bad.sh
