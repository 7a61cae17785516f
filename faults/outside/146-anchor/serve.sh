#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT SERVER
export DIR="$2" ADDRESS="$3" PORT="$4" SERVER="$5"
awk 'BEGIN { for (i = 0; i < 9000; i++) printf "/archive/%06d/page%d.html\n", i * 7919 % 100003, i }' > "$DIR/paths.lst"
exec haproxy -db -f "$(dirname "$0")/$1.cfg"
