#!/bin/sh
cd "$(dirname "$0")" || exit 3
m=$(mktemp -d)
mount -o loop,ro b.img $m || exit 3
trap 'umount $m; rmdir $m' EXIT
for i in 1 2 3 4 5 6 7 8; do
  dd if=$m/data bs=256k iflag=nocache,sequential of=/dev/null 2>/dev/null
  dd if=$m/data iflag=nocache count=0 2>/dev/null
  cksum < $m/data > /dev/null
  dd if=$m/data iflag=nocache count=0 2>/dev/null
done
