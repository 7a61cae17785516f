#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: tcp_rmem
ip link set lo up; echo "$1" > /proc/sys/net/ipv4/tcp_rmem || exit 3
d=$(mktemp -d)
chmod 755 $d
mkdir $d/www; head -c 100000000 /dev/zero > $d/www/f
sed "s,PREFIX,$d,g" nginx.conf > $d/nginx.conf
nginx -c $d/nginx.conf 2>/dev/null & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
i=0; while [ ! -s $d/nginx.pid ]; do i=$((i+1)); [ $i -gt 200 ] && exit 3; sleep 0.02; done
for i in 1 2 3 4 5 6 7 8 9 10; do curl -s http://127.0.0.1:7080/f -o /dev/null || exit 1; done
