#!/bin/bash
set -e
D=/var/tmp/c91; rm -rf $D; mkdir -p $D/www $D/tmp; cd $D; : > pids
ip netns add c91s
k=0
for n in c91e c91w; do
  k=$((k+1))
  ip netns add $n
  ip link add v$n netns c91s type veth peer name e0 netns $n
  ip -n c91s addr add 10.91.$k.1/24 dev v$n; ip -n $n addr add 10.91.$k.2/24 dev e0
  ip -n c91s link set v$n up; ip -n $n link set e0 up; ip -n $n link set lo up
done
ip netns exec c91s tc qdisc add dev vc91e root tbf rate 400mbit burst 256k latency 50ms
ip netns exec c91s tc qdisc add dev vc91w root tbf rate 400mbit burst 200k latency 70ms
head -c 25000000 /dev/urandom > www/arch.bin; cp www/arch.bin www/pier.bin
cat > nginx.conf <<C
daemon off; worker_processes 1; pid $D/nginx.pid; error_log $D/err.log;
events { worker_connections 64; }
http { access_log off; sendfile on; client_body_temp_path $D/tmp; fastcgi_temp_path $D/tmp; proxy_temp_path $D/tmp; uwsgi_temp_path $D/tmp; scgi_temp_path $D/tmp;
  server { listen 80; root $D/www; } }
C
chmod -R a+rX $D
ip netns exec c91s nginx -c $D/nginx.conf </dev/null >/dev/null 2>&1 & echo $! >> pids
sleep 0.8
