#!/bin/bash
set -e
D=/var/tmp/c108; mkdir -p $D; cd $D; : > pids
ip netns add c108; ip -n c108 link set lo up
for n in 1 2; do
  sz=4096; [ $n = 2 ] && sz=512
  { cat <<X
server:
  interface: 127.0.0.$((60+n))
  port: 53
  do-ip6: no
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "$D"
  pidfile: "$D/pid$n"
  use-syslog: no
  logfile: "$D/log$n"
  num-threads: 1
  module-config: "iterator"
  max-udp-size: $sz
  edns-buffer-size: 1232
  minimal-responses: yes
  access-control: 127.0.0.0/8 allow
  local-zone: "farm.test." static
X
    for i in $(seq 40); do echo "  local-data: \"pool.farm.test. 300 IN A 10.20.$n.$i\""; done
    printf 'remote-control:\n  control-enable: no\n'
  } > unbound$n.conf
  printf "nameserver 127.0.0.$((60+n))\noptions edns0\n" > resolv$n
  setsid nsenter --net=/run/netns/c108 unbound -d -c $D/unbound$n.conf </dev/null >/dev/null 2>&1 &
  echo $! >> pids
done
cat > look.py <<'X'
import socket
n = 0
for i in range(1800):
    n += len(socket.gethostbyname_ex('pool.farm.test')[2])
print(n)
X
for n in 1 2; do until ip netns exec c108 bash -c "(exec 3<>/dev/tcp/127.0.0.$((60+n))/53)" 2>/dev/null; do sleep 0.1; done; done
