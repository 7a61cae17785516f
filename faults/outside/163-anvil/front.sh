#!/bin/sh
# front.sh NUMBER SCRATCH ADDRESS PORT PAGES
n=$1 d=$2 a=$3 p=$4 o=$5
size=16384 way=http-keep-alive
case $n in 2) size=2048 way=http-server-close;; 3) size=2048;; 4) way=http-server-close;; esac
mkdir -p "$d"
cat > "$d/conf" <<C
global
  maxconn 1000
  nbthread 1
  tune.bufsize $size
  tune.maxrewrite 512
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option $way
frontend site
  bind $a:$p
  default_backend pages
backend pages
  server s1 $o
C
exec haproxy -db -f "$d/conf"
