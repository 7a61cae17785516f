#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: file with routes
ip link set lo up
ip -batch $1 || exit 3
d=$(mktemp -d)
redis-server --port 7011 --bind 127.0.0.1 --save '' --dir $d --daemonize no >/dev/null 2>&1 & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
i=0; while ! redis-cli -p 7011 ping >/dev/null 2>&1; do i=$((i+1)); [ $i -gt 100 ] && exit 3; sleep 0.02; done
redis-benchmark -p 7011 -n 30000 -c 20 -t set,get -q >/dev/null
