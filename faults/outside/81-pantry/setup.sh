#!/bin/bash
set -e
D=/var/tmp/c81; rm -rf $D; mkdir -p $D; cd $D; : > pids
memcached -u nobody -l 127.0.0.1 -p 8111 -U 0 -t 2 -m 64 </dev/null >/dev/null 2>&1 & echo $! >> pids
memcached -u nobody -l 127.0.0.1 -p 8112 -U 0 -t 2 -m 5 </dev/null >/dev/null 2>&1 & echo $! >> pids
cat > page.py <<'P'
import socket,sys,hashlib,random
s=socket.create_connection(('127.0.0.1',int(sys.argv[1]))); s.setsockopt(socket.IPPROTO_TCP,socket.TCP_NODELAY,1); f=s.makefile('rb',65536)
def render(k):
    h=hashlib.pbkdf2_hmac('sha256',k.encode(),b'tpl',130)
    return h*48
def fetch(k):
    s.sendall(b'get %s\r\n'%k.encode()); l=f.readline()
    if l.startswith(b'VALUE'):
        v=f.read(int(l.split()[3])+2)[:-2]; f.readline(); return v
    v=render(k); s.sendall(b'set %s 0 0 %d\r\n%s\r\n'%(k.encode(),len(v),v)); f.readline(); return v
random.seed(); t=0
for i in range(int(sys.argv[2])): t+=len(fetch('page:%05d'%random.randrange(5000)))
print(t)
P
sleep 0.5
for p in 8111 8112; do /usr/bin/python3 page.py $p 60000 >/dev/null; done
