#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c178; mkdir -p $w
gcc -O2 -o $w/relief "$here/relief.c"
echo "columns 16000 rows 300 pitch 16016 rounds 22" > $w/1.conf
echo "columns 16000 rows 300 pitch 16384 rounds 22" > $w/2.conf
