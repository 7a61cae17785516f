#!/bin/bash
for p in $(cat /var/tmp/c89/pids); do kill $p; done
rm -rf /var/tmp/c89
