#!/bin/bash
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c166; rm -rf $w; mkdir -p $w/parts
python3 "$here/gen.py" $w
split -n 60 -a 3 -d $w/whole $w/parts/p
(cd $w/parts && seq 8000 | sed 's/^/other-/' | xargs touch)
ln -s parts $w/link
cat $w/parts/p* | cmp - $w/whole
