#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -s tree.tar ] || { mkdir -p t/src && for d in $(seq 8); do mkdir -p t/src/d$d; for f in $(seq 25); do seq $f $((f*7+600)) > t/src/d$d/f$f; done; done; (cd t && find src -type f | xargs sha256sum > ../sums); tar cf tree.tar -C t src && rm -rf t; } || exit 3
[ -s disk.img ] || { truncate -s 128M disk.img && mkfs.ext4 -q -F disk.img; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
