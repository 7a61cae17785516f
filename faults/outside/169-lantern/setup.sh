#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c169; mkdir -p $w/1 $w/2
python3 "$here/gen.py" $w 40000
for k in 1 2; do
  n=128; [ $k = 2 ] && n=2048
  cat > $w/$k/conf <<C
port 0
unixsocket $w/$k/sock
dir $w/$k
save ""
appendonly no
logfile $w/$k/log
hash-max-listpack-entries $n
C
  redis-server $w/$k/conf >/dev/null 2>&1 </dev/null & echo $! > $w/$k/pid
done
for k in 1 2; do
  i=0; until [ "$(redis-cli -s $w/$k/sock ping 2>/dev/null)" = PONG ]; do i=$((i+1)); [ $i -lt 100 ]; sleep 0.1; done
  redis-cli -s $w/$k/sock --pipe < $w/$k/fill >/dev/null
done
