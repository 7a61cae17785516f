#!/bin/bash
for p in $(cat /var/tmp/c76/pids); do kill $p; done
sleep 1; rm -rf /var/tmp/c76
