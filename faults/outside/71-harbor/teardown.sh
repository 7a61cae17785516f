#!/bin/bash
for p in $(cat /var/tmp/c71/pids); do kill $p; done
sleep 0.3; rm -rf /var/tmp/c71
