#!/bin/sh
for k in 1 2; do [ -f /var/tmp/c169/$k/pid ] && kill $(cat /var/tmp/c169/$k/pid) 2>/dev/null; done
sleep 0.3
rm -rf /var/tmp/c169
