#!/bin/sh
# front.sh NUMBER SCRATCH ADDRESS PORT PAGES
n=$1 d=$2 a=$3 p=$4 o=$5
mkdir -p "$d"
many=2 socks=0
[ "$n" = 2 ] && many=400 socks=60
awk -v m=$many 'BEGIN { for (i = 1; i <= m * 8; i++) printf "shop%d.example.test section%d\n", i, i % m + 1 }' > "$d/map"
{
cat <<C
global
  maxconn 2000
  nbthread 1
  stats socket $d/stats
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend site
  bind $a:$p
C
for i in $(seq $socks); do echo "  bind $a:$((22000 + i))"; done
cat <<C
  use_backend %[req.hdr(host),map_str($d/map,pages)]
backend pages
  server s1 $o
C
for i in $(seq $many); do printf 'backend section%d\n  balance leastconn\n  server a%d %s weight 10\n  server b%d %s weight 20\n' $i $i $o $i $o; done
} > "$d/conf"
exec haproxy -db -f "$d/conf"
