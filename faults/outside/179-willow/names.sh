#!/bin/sh
# names.sh SCRATCH ADDRESS PORT
awk 'BEGIN { for (j = 1; j <= 80; j++) for (i = 1; i <= 400; i++) printf "10.%d.20.%d node.v4.lan.h%d.s%d.test\n", j, i % 250 + 1, i, j }' > "$1/hosts"
exec dnsmasq -k -C /dev/null --user= --group= --pid-file= --no-resolv --no-hosts --no-daemon --log-facility=/dev/null --bind-interfaces \
  --listen-address="$2" --port="$3" --addn-hosts="$1/hosts" --local-ttl=0 --local=/test/
