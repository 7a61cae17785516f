#!/bin/bash
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c161; rm -rf $w; mkdir -p $w/inc; python3 "$here/gen.py" $w
printf '#ifndef MIX\n#define MIX(x) ((x) * 2654435761u)\n#endif\n' > $w/inc/common.h
o1="-I$w/inc" o2=""
for i in $(seq 12); do mkdir -p $w/sub$i/include; touch $w/sub$i/include/mod$i.h; o2="$o2 -I$w/sub$i/include"; done
for i in $(seq 40); do o2="$o2 -DHAVE_FEATURE_$i=$i"; done
echo "$o1" > $w/opt1; echo "$o2 -I$w/inc" > $w/opt2
