#!/bin/bash
for p in $(cat /var/tmp/c88/pids); do kill $p; done
sleep 0.2; rm -rf /var/tmp/c88
