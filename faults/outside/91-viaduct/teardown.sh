#!/bin/bash
for p in $(cat /var/tmp/c91/pids); do kill $p; done
sleep 0.3
for n in c91e c91w c91s; do ip netns del $n; done
rm -rf /var/tmp/c91
