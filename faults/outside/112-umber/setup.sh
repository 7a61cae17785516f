#!/bin/bash
set -e
D=/var/tmp/c112; mkdir -p $D; cd $D; : > pids
setsid memcached -u root -l 127.0.0.1 -p 21121 -U 0 -m 64 -t 4 </dev/null >/dev/null 2>&1 & echo $! >> pids
setsid memcached -u root -l 127.0.0.1 -p 21122 -U 0 -m 128 -t 6 -c 2000 </dev/null >/dev/null 2>&1 & echo $! >> pids
for p in 21121 21122; do until (exec 3<>/dev/tcp/127.0.0.1/$p) 2>/dev/null; do sleep 0.1; done; done
cat > client.py <<'X'
import socket, sys, zlib
port, pre = int(sys.argv[1]), sys.argv[2]
s = socket.create_connection(('127.0.0.1', port)); f = s.makefile('rb')
keys = [f'{pre}{i}' for i in range(300)]
val = {k: (str(i) * 6000)[:6000].encode() for i, k in enumerate(keys)}
for k in keys:
    s.sendall(b'set %s 0 0 6000\r\n' % k.encode() + val[k] + b'\r\n'); assert f.readline() == b'STORED\r\n'
t = 0
for r in range(3):
    for k in keys:
        s.sendall(b'get %s\r\n' % k.encode())
        n = int(f.readline().split()[3]); v = f.read(n + 2); f.readline()
        for j in range(14): t ^= zlib.adler32(zlib.compress(v[j * 100:j * 100 + 3000], 6))
print(t)
X
cp client.py session-store-sync.py
cat > hold.py <<'X'
import socket, time
k = [socket.create_connection(('127.0.0.1', 21122)) for i in range(300)]
for i in range(3000): k[i % 300].sendall(b'set pad-%d 0 0 5\r\nhello\r\n' % i); k[i % 300].recv(100)
open('/var/tmp/c112/ready', 'w').close()
while True: time.sleep(3600)
X
setsid /usr/bin/python3 hold.py </dev/null >/dev/null 2>&1 & echo $! >> pids
until [ -e ready ]; do sleep 0.1; done
