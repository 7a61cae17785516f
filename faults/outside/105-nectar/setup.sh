#!/bin/bash
set -e
D=/var/tmp/c105; mkdir -p $D; cd $D; : > pids
chmod 755 $D
cat > keeper.py <<'X'
import os, sys, time
n = int(sys.argv[1])
keep = [os.pipe() for _ in range(n)]
open(sys.argv[2], 'w').close()
while True: time.sleep(3600)
X
install -d -o 64051 -g 64051 u1; install -d -o 64052 -g 64052 u2
ulimit -n 8192
for u in 1 2; do
  n=20; [ $u = 2 ] && n=1100
  setsid setpriv --reuid=6405$u --regid=6405$u --clear-groups /usr/bin/python3 keeper.py $n $D/u$u/ready </dev/null >/dev/null 2>&1 &
  echo $! >> pids
done
for u in 1 2; do until [ -e u$u/ready ]; do sleep 0.1; done; done
head -c 100M /dev/zero | tr '\0' 'k' > blob
