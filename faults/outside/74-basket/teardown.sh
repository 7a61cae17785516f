#!/bin/bash
for p in $(cat /var/tmp/c74/pids); do kill $p; done
sleep 0.7; rm -rf /var/tmp/c74
