#!/bin/bash
for p in $(cat /var/tmp/c73/pids); do kill $p; done
sleep 0.3
for n in c73p c73q c73cl; do ip netns del $n; done
rm -rf /var/tmp/c73
