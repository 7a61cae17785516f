#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT
n=$1 d=$2 a=$3 p=$4
mkdir -p "$d/www" "$d/tmp"
seq 500 > "$d/www/page.html"
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "203.%d.%d.%d\n", i % 113, i / 8 % 250, i % 250 + 1 }' | sort -u > "$d/tmp/names"
{
echo "table inet site {"
if [ "$n" = 1 ]; then
  echo "  set s { type ipv4_addr; elements = { $(paste -sd, "$d/tmp/names") } }"
fi
echo "  chain input { type filter hook input priority 0; policy accept;"
if [ "$n" = 1 ]; then
  echo "    ip saddr @s drop"
else
  sed 's/.*/    ip saddr & drop/' "$d/tmp/names"
fi
echo "  }"
echo "}"
} > "$d/tmp/rules"
nft -f "$d/tmp/rules" || exit 4
cat > "$d/tmp/conf" <<C
daemon off; master_process off; worker_processes 1; pid $d/tmp/pid; error_log $d/tmp/error;
events { worker_connections 500; }
http {
  access_log off; default_type text/html; keepalive_requests 1000000000; keepalive_timeout 60s; tcp_nopush on; sendfile on;
  client_body_temp_path $d/tmp/a; proxy_temp_path $d/tmp/b; fastcgi_temp_path $d/tmp/c; uwsgi_temp_path $d/tmp/d; scgi_temp_path $d/tmp/e;
  server { listen $a:$p; root $d/www; }
}
C
exec nginx -p "$d/tmp" -e "$d/tmp/error" -c "$d/tmp/conf"
