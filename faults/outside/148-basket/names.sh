#!/bin/sh
# names.sh SCRATCH ADDRESS PORT
awk 'BEGIN { for (i = 1; i <= 400; i++) printf "10.20.%d.%d h%d.shop.test\n", i / 200, i % 200 + 1, i }' > "$1/hosts"
exec dnsmasq -k -C /dev/null --user= --group= --pid-file= --no-resolv --no-hosts --no-daemon --log-facility=/dev/null --bind-interfaces \
  --listen-address="$2" --port="$3" --addn-hosts="$1/hosts" --local-ttl=600 --local=/test/
