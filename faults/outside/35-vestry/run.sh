#!/bin/sh
cd "$(dirname "$0")" || exit 3
chmod +x work.sh
[ -s one.crt ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout one.key -out one.crt -days 900 -subj /CN=localhost 2>/dev/null || exit 3
[ -s two.crt ] || openssl req -x509 -newkey rsa:3072 -nodes -keyout two.key -out two.crt -days 900 -subj /CN=localhost 2>/dev/null || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
