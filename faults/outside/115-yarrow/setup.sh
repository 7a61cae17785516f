#!/bin/bash
set -e
D=/var/tmp/c115; mkdir -p $D; cd $D; : > pids
ip netns add c115c; ip netns add c115s
for n in 1 2; do
  ip -n c115c link add c115a$n type veth peer name c115b$n netns c115s
  ip -n c115c addr add 10.115.$n.1/24 dev c115a$n; ip -n c115s addr add 10.115.$n.2/24 dev c115b$n
  ip -n c115c link set c115a$n up; ip -n c115s link set c115b$n up
done
ip -n c115s link set lo up
ip netns exec c115c ethtool -K c115a2 tso off gso off >/dev/null
ip netns exec c115s ethtool -K c115b2 gro off >/dev/null
for n in 1 2; do setsid nsenter --net=/run/netns/c115s iperf3 -s -B 10.115.$n.2 -p 5201 </dev/null >/dev/null 2>&1 & echo $! >> pids; done
for n in 1 2; do until [ "$(ip netns exec c115s ss -ltnH | grep -c "10.115.$n.2:5201")" = 1 ]; do sleep 0.1; done; done
sleep 0.5
