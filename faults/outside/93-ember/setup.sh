#!/bin/bash
set -e
D=/var/tmp/c93; mkdir -p $D/site1 $D/site2; cd $D; : > pids
for s in site1 site2; do for i in 1 2 3; do mkfifo $s/feed-$i; done; done
cat > app.js <<'X'
'use strict';
const fs = require('fs'), dns = require('dns'), path = require('path');
const dir = process.argv[2];
for (const f of fs.readdirSync(dir).filter(n => n.startsWith('feed-')))
  fs.open(path.join(dir, f), 'r', (e, fd) => { if (e) throw e; });
const n = 20;
let left = n, seen = 0;
for (let i = 0; i < n; i++)
  dns.lookup(`backend-${i}.site.test`, { family: 4 }, (e, addr) => {
    if (e) throw e;
    seen += Number(addr.split('.')[3]);
    if (--left === 0) { fs.writeSync(1, seen + '\n'); shutdown(); }
  });
function shutdown() {
  for (const f of fs.readdirSync(dir).filter(n => n.startsWith('feed-')))
    fs.writeSync(fs.openSync(path.join(dir, f), fs.constants.O_RDWR | fs.constants.O_NONBLOCK), 'bye\n');
  setTimeout(() => process.exit(0), 5);
}
X
cat > ns.py <<'X'
import socket, threading, time, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.93', 53))
def one(q, a):
    time.sleep(0.05)
    end = q.index(b'\0', 12) + 5
    r = q[:2] + b'\x85\x80' + struct.pack('>HHHH', 1, 1, 0, 0) + q[12:end] + b'\xc0\x0c' + struct.pack('>HHIH', 1, 1, 60, 4) + bytes([127, 0, 9, 3])
    s.sendto(r, a)
while True:
    q, a = s.recvfrom(2000)
    threading.Thread(target=one, args=(q, a), daemon=True).start()
X
echo 'nameserver 127.0.0.93' > resolv
setsid /usr/bin/python3 ns.py </dev/null >/dev/null 2>&1 &
echo $! >> pids
setsid bash -c "exec 3<>$D/site1/feed-1 4<>$D/site1/feed-2 5<>$D/site1/feed-3; exec sleep infinity" </dev/null >/dev/null 2>&1 &
echo $! >> pids
until grep -q :0035 <(grep 5D00007F /proc/net/udp); do sleep 0.1; done
sleep 0.3
