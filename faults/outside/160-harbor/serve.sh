#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT
n=$1 d=$2 a=$3 p=$4
# a table per tenant
awk -v n="$n" 'BEGIN { for (i = 1; i <= 1500; i++) {
  t = 1000 + i; net = sprintf("45.%d.%d.0/24", 16 + int(i / 250), i % 250)
  printf "route replace unreachable %s%s\n", net, n == 1 ? "" : " table " t
  if (n == 2) printf "rule add from %s lookup %d pref %d\n", net, t, t
} }' > "$d/batch"
while ip rule show 2>/dev/null | grep -q '^1[0-9][0-9][0-9]:'; do ip rule show | awk -F: '/^1[0-9][0-9][0-9]:|^2[0-9][0-9][0-9]:/ { print "rule del pref " $1 }' | ip -batch -; done
ip -batch "$d/batch"
{
cat <<C
server:
  interface: $a
  port: $p
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "$d"
  pidfile: "$d/pid"
  use-syslog: no
  logfile: "$d/log"
  access-control: 0.0.0.0/0 allow
  num-threads: 1
  module-config: "iterator"
  do-ip6: no
  local-zone: "shop.test." static
C
awk 'BEGIN { for (i = 1; i <= 400; i++) printf "  local-data: \"h%d.shop.test. 600 A 10.20.%d.%d\"\n", i, i / 200, i % 200 + 1 }'
echo 'remote-control:'
echo '  control-enable: no'
} > "$d/conf"
exec unbound -d -c "$d/conf"
