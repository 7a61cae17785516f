#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: certificate
d=$(mktemp -d)
sed "s,PREFIX,$d,g;s,CASE,$PWD,g;s,KIND,$1,g" nginx.conf > $d/nginx.conf
chmod 755 $d
nginx -c $d/nginx.conf 2>/dev/null & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
i=0; while [ ! -s $d/nginx.pid ]; do i=$((i+1)); [ $i -gt 200 ] && exit 3; sleep 0.02; done
ab -q -n 400 -c 4 https://127.0.0.1:7443/ > /dev/null
