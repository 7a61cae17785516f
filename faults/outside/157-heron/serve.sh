#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT
n=$1 d=$2 a=$3 p=$4
mkdir -p "$d/www" "$d/tmp"
seq 1800 > "$d/www/page.html"
many=3; [ "$n" = 2 ] && many=3000
ip route flush proto 77; ip address flush dev lo to 45.90.0.0/16
nft delete table ip guard 2>/dev/null
{
  printf 'table ip guard {\n set closed {\n  type ipv4_addr . inet_service\n  elements = {\n'
  awk -v m=$many 'BEGIN { for (i = 1; i <= m; i++) printf "%s 45.20.%d.%d . %d", (i > 1 ? ",\n" : ""), i / 250, i % 250, 2000 + i }'
  printf '\n  }\n }\n chain in {\n  type filter hook input priority 0; policy accept;\n  ip saddr . tcp dport @closed drop\n }\n}\n'
} > "$d/tmp/rules"
nft -f "$d/tmp/rules"
awk -v m=$many 'BEGIN { for (i = 1; i <= m; i++) printf "route replace unreachable 45.%d.%d.0/25 proto 77\n", 16 + i / 250, i % 250
  for (i = 1; i <= m / 20; i++) printf "address replace 45.90.%d.%d/32 dev lo\n", i / 250, i % 250 }' > "$d/tmp/batch"
ip -batch "$d/tmp/batch"
cat > "$d/tmp/conf" <<C
daemon off; master_process off; worker_processes 1; pid $d/tmp/pid; error_log $d/tmp/error;
events { worker_connections 1000; }
http {
  access_log off; default_type text/html; keepalive_requests 1000000000; keepalive_timeout 60s;
  client_body_temp_path $d/tmp/a; proxy_temp_path $d/tmp/b; fastcgi_temp_path $d/tmp/c; uwsgi_temp_path $d/tmp/d; scgi_temp_path $d/tmp/e;
  server { listen $a:$p; root $d/www; }
}
C
exec nginx -p "$d/tmp" -e "$d/tmp/error" -c "$d/tmp/conf"
