#!/bin/bash
set -e
D=/var/tmp/c73; rm -rf $D; mkdir -p $D; cd $D; : > pids
ip netns add c73cl
cat > echo.py <<'P'
import socket,threading,sys
s=socket.socket(); s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1); s.bind((sys.argv[1],7300)); s.listen(64)
def h(c):
    c.setsockopt(socket.IPPROTO_TCP,socket.TCP_NODELAY,1)
    while True:
        d=c.recv(4096)
        if not d: break
        c.sendall(d)
    c.close()
while True:
    c,_=s.accept(); threading.Thread(target=h,args=(c,),daemon=True).start()
P
cat > ask.py <<'P'
import socket,sys
s=socket.create_connection((sys.argv[1],7300)); s.setsockopt(socket.IPPROTO_TCP,socket.TCP_NODELAY,1)
q=b'GET seat %06d\n'
for i in range(int(sys.argv[2])):
    m=q%i; s.sendall(m); r=b''
    while len(r)<len(m): r+=s.recv(4096)
print('ok',i+1)
P
k=0
for n in c73p c73q; do
  k=$((k+1))
  ip netns add $n
  ip link add v$n netns c73cl type veth peer name e0 netns $n
  ip -n c73cl addr add 10.73.$k.1/24 dev v$n; ip -n $n addr add 10.73.$k.2/24 dev e0
  ip -n c73cl link set v$n up; ip -n $n link set e0 up; ip -n $n link set lo up
done
addrs=$(perl -e 'print join(",\n", map { sprintf "198.%d.%d.%d", 18+$_%2, $_/250, 1+$_%250 } 1..1800)')
( echo "table ip guard { set deny { type ipv4_addr; elements = { $addrs }
}"
  echo "chain in { type filter hook input priority 0; policy accept; ip saddr @deny counter drop;
}
}" ) > p.nft
( echo "table ip guard { chain in { type filter hook input priority 0; policy accept;"
  echo "$addrs" | tr -d ',' | sed 's/.*/ip saddr & counter drop;/'
  printf "}\n}\n" ) > q.nft
ip netns exec c73p nft -f p.nft
ip netns exec c73q nft -f q.nft
k=0
for n in c73p c73q; do
  k=$((k+1))
  ip netns exec $n /usr/bin/python3 echo.py 10.73.$k.2 </dev/null >/dev/null 2>&1 & echo $! >> pids
done
sleep 0.7
