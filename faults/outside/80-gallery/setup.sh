#!/bin/bash
set -e
D=/var/tmp/c80; rm -rf $D; mkdir -p $D/spring $D/autumn $D/tmp; cd $D
perl -e 'srand 3; for $d ("spring","autumn") { for $i (1..300) { open F,">","$d/img$i.jpg"; print F chr(65+$i%26) x (20000+($i*7919)%90000); close F } }'
cat > nginx.conf <<C
daemon off; worker_processes 1; pid $D/nginx.pid; error_log $D/err.log;
events { worker_connections 64; }
http { sendfile on; client_body_temp_path $D/tmp; fastcgi_temp_path $D/tmp; proxy_temp_path $D/tmp; uwsgi_temp_path $D/tmp; scgi_temp_path $D/tmp;
  server { listen 127.0.0.1:8081; root $D/spring; tcp_nopush on; access_log $D/a1.log; }
  server { listen 127.0.0.1:8082; root $D/autumn; tcp_nopush on; access_log $D/second.log;
    location /private/ { return 403; } location ~ \.php$ { return 404; } }
}
C
perl -e 'use List::Util "shuffle"; for $p (8081,8082) { srand $p; open F,">","list$p"; for $r (1..20) { print F "url=http://127.0.0.1:$p/img$_.jpg\noutput=/dev/null\n" for shuffle 1..300 } close F }'
chmod -R a+rX $D
nginx -c $D/nginx.conf </dev/null >/dev/null 2>&1 & echo $! > pids
sleep 0.7
