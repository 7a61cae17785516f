#!/bin/bash
for p in $(cat /var/tmp/c69/pids); do kill $p; done
sleep 0.5; rm -rf /var/tmp/c69
