#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: configuration
d=$(mktemp -d)
redis-server ./$1 --port 7012 --bind 127.0.0.1 --dir $d >/dev/null 2>&1 & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
/usr/bin/python3 load.py 7012
