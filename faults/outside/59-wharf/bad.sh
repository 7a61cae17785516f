#!/bin/sh
cd "$(dirname "$0")" || exit 3
d=$(mktemp -d)
chmod 755 $d
sed "s,PREFIX,$d,g" idle.conf > $d/c
nginx -c $d/c 2>/dev/null & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
zstd -q -11 -T1 -c in.tar > /dev/null
