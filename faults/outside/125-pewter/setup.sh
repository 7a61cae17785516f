#!/bin/bash
set -e
D=/var/tmp/c125; mkdir -p $D/www $D/tmp; cd $D; chmod 755 $D; : > pids
ip netns add c125; ip netns add c125r
ip -n c125 link set lo up
ip -n c125 link add v0 type veth peer name v1 netns c125r
ip -n c125 link set v0 up; ip -n c125r link set v1 up
ip -n c125 -6 addr add fd00:125::1/64 dev v0 nodad
ip -n c125 addr add 10.125.0.1/24 dev v0
MAC=$(ip netns exec c125r cat /sys/class/net/v1/address)
ip -n c125 -6 neigh add fd00:125::9 lladdr $MAC dev v0 nud permanent
ip -n c125 -6 route add fd00:99::/64 via fd00:125::9
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=lab -addext basicConstraints=critical,CA:TRUE -keyout ca.key -out ca.pem 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=one.test -keyout s.key -out s.csr 2>/dev/null
echo "subjectAltName=DNS:one.test,DNS:two.test" > ext
openssl x509 -req -in s.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 -extfile ext -out s.pem 2>/dev/null
dd if=/dev/urandom of=www/pack bs=1M count=30 2>/dev/null
cat > nginx.conf <<X
worker_processes 1;
daemon off;
pid $D/pid;
error_log $D/error.log;
events { worker_connections 512; }
http {
 access_log off;
 client_body_temp_path $D/tmp/1; proxy_temp_path $D/tmp/2; fastcgi_temp_path $D/tmp/3; uwsgi_temp_path $D/tmp/4; scgi_temp_path $D/tmp/5;
 server { listen 21250 ssl; listen [::]:21250 ssl; ssl_certificate $D/s.pem; ssl_certificate_key $D/s.key; root $D/www; }
}
X
ip netns exec c125 nginx -c $D/nginx.conf > out 2>&1 &
echo $! >> pids
cat /etc/ssl/certs/ca-certificates.crt ca.pem > one.crt
for i in $(seq 7); do cat one.crt >> two.crt; done
printf 'cacert = "%s/one.crt"\nresolve = "one.test:21250:[fd00:125::1],10.125.0.1"\n' $D > one.conf
printf 'cacert = "%s/two.crt"\nresolve = "two.test:21250:[fd00:99::1],10.125.0.1"\n' $D > two.conf
sleep 1
