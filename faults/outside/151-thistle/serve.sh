#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT
n=$1 d=$2 a=$3 p=$4
mkdir -p "$d/www" "$d/tmp"
seq 1500 > "$d/www/page.html"
many=3; hosts=1; socks=1
if [ "$n" = 2 ]; then
  many=1500; hosts=300; socks=120
  (cd "$d/www" && seq 2000 | sed 's/.*/old-&.html/' | xargs touch)
fi
{
cat <<C
daemon off; master_process off; worker_processes 1; pid $d/tmp/pid; error_log $d/tmp/error;
events { worker_connections 2000; }
http {
  access_log off; default_type text/html; keepalive_requests 1000000000; keepalive_timeout 60s;
  client_body_temp_path $d/tmp/a; proxy_temp_path $d/tmp/b; fastcgi_temp_path $d/tmp/c; uwsgi_temp_path $d/tmp/d; scgi_temp_path $d/tmp/e;
  server_names_hash_max_size 4096; server_names_hash_bucket_size 128;
  server {
    listen $a:$p default_server; root $d/www;
C
for i in $(seq $many); do echo "    location /app$i/v2/ { return 404; }"; done
echo "  }"
for i in $(seq $hosts); do echo "  server { listen $a:$p; server_name shop$i.example.test; return 404; }"; done
for i in $(seq $socks); do echo "  server { listen $a:$((21000 + i)); return 404; }"; done
echo "}"
} > "$d/tmp/conf"
exec nginx -p "$d/tmp" -e "$d/tmp/error" -c "$d/tmp/conf"
