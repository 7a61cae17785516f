#!/bin/bash
p=$(cat /var/tmp/c90/pids); kill $p
for i in $(seq 50); do kill -0 $p 2>/dev/null || break; sleep 0.2; done
rm -rf /var/tmp/c90
