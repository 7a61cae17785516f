#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c135; mkdir -p $w
python3 "$here/gen.py" $w
for k in 1 2; do (cd $w/$k && javac -d . Main.java); done
