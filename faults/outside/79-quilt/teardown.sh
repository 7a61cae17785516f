#!/bin/bash
for p in $(cat /var/tmp/c79/pids); do kill $p; done
rm -rf /var/tmp/c79
