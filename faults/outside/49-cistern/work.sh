#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: somaxconn
ip link set lo up; echo $1 > /proc/sys/net/core/somaxconn || exit 3
/usr/bin/python3 srv.py & p=$!
trap 'kill $p; wait $p 2>/dev/null' EXIT
i=0; while ! curl -s -o /dev/null http://127.0.0.1:7084/; do i=$((i+1)); [ $i -gt 200 ] && exit 3; sleep 0.02; done
for c in 1 2 3 4 5 6 7 8 9 10; do curl -s -f "http://127.0.0.1:7084/[1-80]" -o /dev/null & q="$q $!"; done
for x in $q; do wait $x || exit 1; done
