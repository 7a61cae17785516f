#!/bin/bash
for p in $(cat /var/tmp/c75/pids); do kill $p; done
sleep 0.3; rm -rf /var/tmp/c75
