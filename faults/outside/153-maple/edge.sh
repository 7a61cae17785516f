#!/bin/sh
# edge.sh SCRATCH ADDRESS PORT ORIGIN
d=$1 a=$2 p=$3 o=$4
mkdir -p "$d/tmp" "$d/store"
cat > "$d/tmp/conf" <<C
daemon off; master_process off; worker_processes 1; pid $d/tmp/pid; error_log $d/tmp/error;
events { worker_connections 1000; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 60s;
  client_body_temp_path $d/tmp/a; proxy_temp_path $d/tmp/b; fastcgi_temp_path $d/tmp/c; uwsgi_temp_path $d/tmp/d; scgi_temp_path $d/tmp/e;
  proxy_cache_path $d/store keys_zone=pages:4m max_size=64m inactive=10m;
  upstream origin { server $o; keepalive 16; keepalive_requests 1000000000; }
  server {
    listen $a:$p;
    location / {
      proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache pages; proxy_cache_key \$uri; proxy_cache_valid 200 10m;
    }
  }
}
C
exec nginx -p "$d/tmp" -e "$d/tmp/error" -c "$d/tmp/conf"
