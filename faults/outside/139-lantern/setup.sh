#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p /var/tmp/c139
gcc -O2 -g -o /var/tmp/c139/run "$here/run.c"
