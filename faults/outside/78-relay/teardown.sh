#!/bin/bash
for p in $(cat /var/tmp/c78/pids); do kill $p; done
sleep 0.3
for n in c78a c78b c78s; do ip netns del $n; rm -rf /etc/netns/$n; done
rmdir /etc/netns 2>/dev/null; rm -rf /var/tmp/c78
