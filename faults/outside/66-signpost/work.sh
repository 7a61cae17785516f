#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: resolv.conf, $2: limit
ip link set lo up
mount --bind $1 /etc/resolv.conf || exit 3
unbound -c unbound.conf -d 2>/dev/null & p=$!
/usr/bin/python3 black.py & q=$!
trap 'kill $p $q; wait $p $q 2>/dev/null' EXIT
sleep 0.3
/usr/bin/python3 shop.py $2
