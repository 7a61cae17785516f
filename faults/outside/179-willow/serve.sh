#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT SERVER
d=$2; a=${5%:*}; p=${5##*:}
t=no; [ "$1" = 2 ] && t=yes
cat > "$d/conf" <<C
server:
  interface: $3@$4
  access-control: 0.0.0.0/0 allow
  port: $4
  directory: "$d"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  logfile: "$d/log"
  num-threads: 1
  module-config: "iterator"
  do-not-query-localhost: no
  local-zone: "test." nodefault
  qname-minimisation: $t
  minimal-responses: yes
  cache-max-ttl: 0
  cache-max-negative-ttl: 0
stub-zone:
  name: "test."
  stub-addr: $a@$p
C
exec unbound -d -c "$d/conf"
