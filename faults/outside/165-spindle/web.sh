#!/bin/sh
# web.sh SCRATCH ADDRESS PORT APP
d=$1 a=$2 p=$3 o=$4
mkdir -p "$d/tmp"
cat > "$d/tmp/conf" <<C
daemon off; master_process off; worker_processes 1; pid $d/tmp/pid; error_log $d/tmp/error;
events { worker_connections 1000; }
http {
  access_log off; default_type text/html; keepalive_requests 1000000000; keepalive_timeout 60s;
  client_body_temp_path $d/tmp/a; proxy_temp_path $d/tmp/b; fastcgi_temp_path $d/tmp/c; uwsgi_temp_path $d/tmp/d; scgi_temp_path $d/tmp/e;
  server {
    listen $a:$p;
    location / { fastcgi_pass $o; fastcgi_param SCRIPT_FILENAME $PWD/made/app/page.php; fastcgi_param REQUEST_METHOD \$request_method; fastcgi_param REQUEST_URI \$request_uri; fastcgi_param SCRIPT_NAME /page.php; }
  }
}
C
exec nginx -p "$d/tmp" -e "$d/tmp/error" -c "$d/tmp/conf"
