#!/bin/sh
w=/var/tmp/c138
for m in $w/m $w/s; do
  while mountpoint -q $m; do umount $m 2>/dev/null || umount -l $m || break; done
done
rm -rf $w
