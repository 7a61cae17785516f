#!/bin/bash
set -e
D=/var/tmp/c111; mkdir -p $D; cd $D; : > pids
head -c 200M /dev/urandom > img1; cp img1 img2
for n in 1 2; do l=$(losetup -f --show img$n); ln -s $l vol$n; cat /sys/block/${l##*/}/queue/max_sectors_kb > orig$n; done
l=$(readlink vol2); echo 4 > /sys/block/${l##*/}/queue/max_sectors_kb
