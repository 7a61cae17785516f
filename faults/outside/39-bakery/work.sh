#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: configuration
d=$(mktemp -d)
chmod 755 $d
mkdir $d/www; echo hello > $d/www/f
sed "s,PREFIX,$d,g" $1 > $d/nginx.conf
nginx -c $d/nginx.conf 2>/dev/null & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
i=0; while [ ! -s $d/nginx.pid ]; do i=$((i+1)); [ $i -gt 200 ] && exit 3; sleep 0.02; done
ab -q -n 15000 -c 8 http://127.0.0.1:7081/f > /dev/null
