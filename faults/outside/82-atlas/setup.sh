#!/bin/bash
set -e
D=/var/tmp/c82; rm -rf $D; mkdir -p $D/east $D/west; cd $D
for n in east west; do truncate -s 600M $n.img; mkfs.btrfs -q $n.img; done
mount -o loop,noatime,compress=no east.img east
mount -o loop,noatime,compress-force=zstd:5 west.img west
perl -e 'srand 8; for (1..300000) { printf "%07d,%08x,%s,%d\n", $_, int rand 4e9, ("oak","birch","maple","fir")[rand 4], rand 1e9 } ' > $D/tiles.csv
