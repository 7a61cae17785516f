#!/bin/bash
for p in $(cat /var/tmp/c83/pids); do kill $p; done
sleep 0.3
for n in c83m c83n c83s; do ip netns del $n; done
rm -rf /var/tmp/c83
