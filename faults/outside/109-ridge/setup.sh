#!/bin/bash
set -e
D=/var/tmp/c109; mkdir -p $D/t/a; cd $D; : > pids
/usr/bin/python3 - <<'X'
import os
for i in range(24):
    open(f'/var/tmp/c109/t/a/part{i:02d}.bin','wb').write(os.urandom(1<<20)*10)
X
mkdir -p "far/mirror/site-two"; cp -al t/a "far/mirror/site-two/a"
ip netns add c109p; ip netns add c109q
for n in p q; do ip -n c109$n link set lo up; done
for i in $(seq 40); do ip -n c109q addr add 10.109.0.$i/32 dev lo; done
for i in $(seq 300); do echo "route add 10.$((110+i/200)).$((i%200)).0/24 dev lo"; done | ip -n c109q -batch -
cat > p.conf <<X
use chroot = no
uid = root
gid = root
pid file = $D/p.pid
[data]
path = $D/t
X
cat > q.conf <<X
use chroot = no
uid = root
gid = root
pid file = $D/q.pid
log file = $D/q.log
transfer logging = yes
max connections = 200
[site-two-mirror]
path = $D/far/mirror/site-two
[other]
path = $D/far
X
mkdir -p back; cp -a t/a back/a
setsid nsenter --net=/run/netns/c109p rsync --daemon --no-detach --port 21091 --config $D/p.conf </dev/null >/dev/null 2>&1 & echo $! >> pids
setsid nsenter --net=/run/netns/c109q rsync --daemon --no-detach --port 21092 --config $D/q.conf </dev/null >/dev/null 2>&1 & echo $! >> pids
until ip netns exec c109p bash -c '(exec 3<>/dev/tcp/127.0.0.1/21091)' 2>/dev/null; do sleep 0.1; done
until ip netns exec c109q bash -c '(exec 3<>/dev/tcp/127.0.0.1/21092)' 2>/dev/null; do sleep 0.1; done
cat > hold.py <<'X'
import socket, time
l = socket.create_server(('127.0.0.1', 21093), backlog=100)
k = [socket.create_connection(('127.0.0.1', 21093)) for i in range(50)]
while True: time.sleep(3600)
X
setsid nsenter --net=/run/netns/c109q /usr/bin/python3 hold.py </dev/null >/dev/null 2>&1 & echo $! >> pids
sleep 0.4
