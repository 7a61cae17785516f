#!/bin/bash
set -e
D=/var/tmp/c122; mkdir -p $D; cd $D; chmod 755 $D; : > pids
for n in a b; do
  mkdir -p $D/$n/www $D/$n/tmp; perl -e 'print "<p>hello</p>\n" x 400' > $D/$n/www/page.html
  ip netns add c122$n; ip -n c122$n link set lo up
  ip -n c122$n link add v0 type veth peer name v1
  ip -n c122$n link set v0 up; ip -n c122$n link set v1 up; ip -n c122$n addr add 10.122.0.1/24 dev v0
done
perl -e 'for $a (0..77){ for $b (0..255){ print "route add 10.".(130+$a).".$b.0/24 via 10.122.0.9\n" } }' > routes
ip -n c122b -batch routes
perl -e 'for(1..400){ printf "addr add 10.122.%d.%d/32 dev v0\n",1+int($_/200),1+$_%200 }' > addrs
ip -n c122b -batch addrs
perl -e 'for(1..20000){ open my $f,">","/var/tmp/c122/b/www/other-$_.html"; close $f }'
for n in a b; do
  cat > $D/$n/nginx.conf <<X
worker_processes 1;
daemon off;
pid $D/$n/pid;
error_log $D/$n/error.log;
events { worker_connections 512; }
http {
 access_log off; keepalive_requests 1000000;
 client_body_temp_path $D/$n/tmp/1; proxy_temp_path $D/$n/tmp/2; fastcgi_temp_path $D/$n/tmp/3; uwsgi_temp_path $D/$n/tmp/4; scgi_temp_path $D/$n/tmp/5;
 server { listen 21220; root $D/$n/www; }
}
X
  ip netns exec c122$n nginx -c $D/$n/nginx.conf > $D/$n/out 2>&1 &
  echo $! >> pids
done
sleep 1
