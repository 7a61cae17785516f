#!/bin/sh
cd "$(dirname "$0")" || exit 3
chmod +x work.sh
[ -s b.conf ] || /usr/bin/python3 - <<'P' || exit 3
head="""worker_processes 1;
daemon off;
pid PREFIX/nginx.pid;
error_log PREFIX/error.log;
events { worker_connections 256; }
http {
  access_log PREFIX/access.log;
  client_body_temp_path PREFIX/b; proxy_temp_path PREFIX/p; fastcgi_temp_path PREFIX/f; uwsgi_temp_path PREFIX/u; scgi_temp_path PREFIX/s;
  server { listen 127.0.0.1:7081; root PREFIX/www; }
"""
open("a.conf","w").write(head+"}\n")
open("b.conf","w").write(head+"".join("  server { listen 127.0.0.1:%d; server_name shop%d.example; root PREFIX/old/%d; # not used any more\n  }\n"%(7082,i,i) for i in range(120))+"}\n")
P
exec plimsoll compare --explain ./good.sh ./bad.sh
