#!/bin/bash
for p in $(cat /var/tmp/c80/pids); do kill $p; done
sleep 0.3; rm -rf /var/tmp/c80
