#!/bin/sh
# serve.sh SIZE ADDRESS PORT SERVER
a=${4%:*}; p=${4##*:}
exec dnsmasq -k -C /dev/null --user= --group= --pid-file= --no-resolv --no-hosts --no-daemon --log-facility=/dev/null --bind-interfaces \
  --listen-address="$2" --port="$3" --server="$a#$p" --cache-size="$1" --min-cache-ttl=600
