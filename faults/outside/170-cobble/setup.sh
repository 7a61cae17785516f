#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c170; mkdir -p $w
cp "$here/scan.rb" $w/
python3 "$here/gen.py" $w 160 9000
