#!/bin/sh
cd "$(dirname "$0")" || exit 3
opts=loop,noatime,sync
m=$(mktemp -d)
c=$PWD
mount -o $opts disk.img $m || exit 3
trap 'cd /; umount $m; rmdir $m' EXIT
tar xf tree.tar -C $m || exit 1
cd $m || exit 1
for i in $(seq 120); do sha256sum --quiet -c $c/sums || exit 1; done
sync -f $m
