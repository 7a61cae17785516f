#!/bin/sh
set -e
w=/var/tmp/c138
mkdir -p $w/s $w/m $w/src
mountpoint -q $w/s || mount -t tmpfs -o size=200m tmpfs $w/s
if ! mountpoint -q $w/m; then
  truncate -s 128M $w/s/img
  mkfs.ext4 -q -F $w/s/img
  mount -o loop,noatime $w/s/img $w/m
fi
mkdir -p $w/m/1 $w/m/2
chattr +S $w/m/2
for i in $(seq 1 24); do seq $i 11 $((i * 900 + 500000)) > $w/src/f$i; done
tar -C $w/src -cJf $w/s/a.txz .
