#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: configuration, $2: port
d=$(mktemp -d)
haproxy -db -f $1 -p $d/pid >/dev/null 2>&1 & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
i=0; while ! curl -s -o /dev/null http://127.0.0.1:$2/; do i=$((i+1)); [ $i -gt 200 ] && exit 3; sleep 0.02; done
ab -q -k -n 25000 -c 8 http://127.0.0.1:$2/ > /dev/null
