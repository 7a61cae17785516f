#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: configuration
d=$(mktemp -d); chmod 755 $d; mkdir $d/www; echo hello > $d/www/f.html; chmod 755 $d/www
sed "s,PREFIX,$d,g" $1 > $d/conf
setsid /usr/sbin/apache2 -f $d/conf -DFOREGROUND >/dev/null 2>&1 & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
i=0; while ! curl -s -o /dev/null http://127.0.0.1:7086/f.html; do i=$((i+1)); [ $i -gt 200 ] && exit 3; sleep 0.02; done
ab -q -n 4800 -c 4 http://127.0.0.1:7086/f.html > /dev/null
