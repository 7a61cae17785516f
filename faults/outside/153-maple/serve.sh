#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT
n=$1 d=$2 a=$3 p=$4
mkdir -p "$d/www" "$d/tmp"
seq 2500 > "$d/www/page.html"
h='add_header X-Visit "v=1; Path=/";'
[ "$n" = 2 ] && h='add_header Set-Cookie "v=1; Path=/";'
cat > "$d/tmp/conf" <<C
daemon off; master_process off; worker_processes 1; pid $d/tmp/pid; error_log $d/tmp/error;
events { worker_connections 1000; }
http {
  access_log off; default_type text/html; keepalive_requests 1000000000; keepalive_timeout 60s;
  client_body_temp_path $d/tmp/a; proxy_temp_path $d/tmp/b; fastcgi_temp_path $d/tmp/c; uwsgi_temp_path $d/tmp/d; scgi_temp_path $d/tmp/e;
  server { listen $a:$p; root $d/www; $h }
}
C
exec nginx -p "$d/tmp" -e "$d/tmp/error" -c "$d/tmp/conf"
