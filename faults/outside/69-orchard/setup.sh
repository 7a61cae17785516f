#!/bin/bash
set -e
D=/var/tmp/c69; rm -rf $D; mkdir -p $D; cd $D; : > pids
start() { # name extra...
  n=$1; shift
  redis-server --port 0 --unixsocket $D/$n.sock --save '' --appendonly no --dir $D --logfile $D/$n.log --daemonize no "$@" >/dev/null 2>&1 &
  echo $! >> pids
}
start east --hash-max-listpack-entries 128 --hash-max-listpack-value 64
start west --hash-max-listpack-entries 4096 --hash-max-listpack-value 64
for n in east west; do
  for i in $(seq 50); do redis-cli -s $D/$n.sock ping 2>/dev/null | grep -q PONG && break; sleep 0.1; done
  perl -e 'for $i (0..1999) { printf "HSET basket f:%012d item-%d-stock\n", $i, $i*7 }' | redis-cli -s $D/$n.sock >/dev/null
done
