#!/bin/bash
set -e
D=/var/tmp/c78; rm -rf $D; mkdir -p $D/www $D/tmp; cd $D; : > pids
ip netns add c78s
k=0
for n in c78a c78b; do
  k=$((k+1))
  ip netns add $n
  ip link add v$n netns c78s type veth peer name e0 netns $n
  ip -n c78s addr add 10.78.$k.1/24 dev v$n; ip -n $n addr add 10.78.$k.2/24 dev e0
  ip -n c78s link set v$n up; ip -n $n link set e0 up; ip -n $n link set lo up
  ip -n $n route add default via 10.78.$k.1
  mkdir -p /etc/netns/$n
done
ip -n c78s link set lo up; ip -n c78s addr add 10.78.9.1/32 dev lo
printf 'nameserver 10.78.9.1\nsearch corp.test\noptions ndots:1\n' > /etc/netns/c78a/resolv.conf
printf 'nameserver 10.78.9.1\nsearch eu.corp.test svc.corp.test lab.corp.test corp.test\noptions ndots:6\n' > /etc/netns/c78b/resolv.conf
ip netns exec c78b sysctl -qw net.ipv4.tcp_rmem='4096 16000 16000'
cat > dns.py <<'P'
import socket,struct,threading,time
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('10.78.9.1',53))
def ans(q,a):
    i=12; L=[]
    while q[i]: L.append(q[i+1:i+1+q[i]].decode().lower()); i+=1+q[i]
    t=struct.unpack('>H',q[i+1:i+3])[0]; qs=q[12:i+5]; name='.'.join(L)
    time.sleep(0.022)
    ok = name in ('media.origin.test',)
    if ok and t==1: r=q[:2]+b'\x85\x80\0\1\0\1\0\0\0\0'+qs+b'\xc0\x0c\0\1\0\1\0\0\0\1\0\4'+socket.inet_aton('10.78.9.1')
    elif ok: r=q[:2]+b'\x85\x80\0\1\0\0\0\0\0\0'+qs
    else: r=q[:2]+b'\x85\x83\0\1\0\0\0\0\0\0'+qs
    s.sendto(r,a)
while True:
    q,a=s.recvfrom(512); threading.Thread(target=ans,args=(q,a),daemon=True).start()
P
head -c 15000000 /dev/urandom > www/clip.bin
cat > nginx.conf <<C
daemon off; worker_processes 1; pid $D/nginx.pid; error_log $D/err.log;
events { worker_connections 64; }
http { access_log off; sendfile on; client_body_temp_path $D/tmp; fastcgi_temp_path $D/tmp; proxy_temp_path $D/tmp; uwsgi_temp_path $D/tmp; scgi_temp_path $D/tmp;
  server { listen 10.78.9.1:80; root $D/www; } }
C
chmod -R a+rX $D
ip netns exec c78s /usr/bin/python3 dns.py </dev/null >/dev/null 2>&1 & echo $! >> pids
ip netns exec c78s nginx -c $D/nginx.conf </dev/null >/dev/null 2>&1 & echo $! >> pids
sleep 1
