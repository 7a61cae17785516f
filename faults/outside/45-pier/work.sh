#!/bin/sh
cd "$(dirname "$0")" || exit 3
d=$(mktemp -d -p .)
redis-server ./$1 --port 7013 --bind 127.0.0.1 --dir $PWD/$d >/dev/null 2>&1 & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
/usr/bin/python3 load.py 7013 "$2"
