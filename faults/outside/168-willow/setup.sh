#!/bin/sh
set -e
cd "$(dirname "$0")"; mkdir -p /var/tmp/c168
gcc -O2 -o /var/tmp/c168/work work.c
