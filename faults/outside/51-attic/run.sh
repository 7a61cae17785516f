#!/bin/sh
cd "$(dirname "$0")" || exit 3
chmod +x work.sh
one(){ printf 'frontend f\n    bind 127.0.0.1:%d\n    http-request return status 200 content-type text/plain string "hello there"\n' $1; }
[ -s b.cfg ] || { { cat head.cfg; one 7090; } > a.cfg; { cat head.cfg; for i in $(seq 60); do printf 'backend old%d\n    # switched off in spring\n    server s1 127.0.0.1:%d disabled\n' $i $((9500+i)); done; one 7391; } > b.cfg; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
