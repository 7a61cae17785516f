#!/bin/bash
set -e
D=/var/tmp/c83; rm -rf $D; mkdir -p $D; cd $D; : > pids
cat > sink.py <<'P'
import socket,threading,sys
s=socket.socket(); s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1); s.bind(('0.0.0.0',8300)); s.listen(8)
def h(c):
    n=0; b=bytearray(262144)
    while True:
        k=c.recv_into(b)
        if not k: break
        n+=k
    c.sendall(b'%d\n'%n); c.close()
while True:
    c,_=s.accept(); threading.Thread(target=h,args=(c,),daemon=True).start()
P
cat > pour.py <<'P'
import socket,sys
s=socket.create_connection((sys.argv[1],8300)); b=b'w'*262144
for i in range(int(sys.argv[2])): s.sendall(b)
s.shutdown(socket.SHUT_WR); print(s.recv(99).decode().strip())
P
ip netns add c83s
k=0
for n in c83m c83n; do
  k=$((k+1))
  ip netns add $n
  ip link add v$n netns c83s type veth peer name e0 netns $n
  ip -n c83s addr add 10.83.$k.1/24 dev v$n; ip -n $n addr add 10.83.$k.2/24 dev e0
  ip -n c83s link set v$n up; ip -n $n link set e0 up; ip -n $n link set lo up
done
ip netns exec c83n ethtool -K e0 tso off gso off >/dev/null
ip netns exec c83s /usr/bin/python3 sink.py </dev/null >/dev/null 2>&1 & echo $! >> pids
sleep 0.7
