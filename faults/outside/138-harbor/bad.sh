#!/bin/sh
d=/var/tmp/c138/m/2
for i in 1 2 3; do
  rm -rf $d/x && mkdir $d/x && tar -C $d/x -xJf /var/tmp/c138/s/a.txz || exit 1
  cat $d/x/f* | gzip -1 | cksum || exit 1
done
