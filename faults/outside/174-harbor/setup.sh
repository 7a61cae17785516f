#!/bin/sh
set -e
w=/var/tmp/c174; mkdir -p $w/1 $w/2
python3 - $w <<'P'
import io, random, sys, tarfile
w = sys.argv[1]; r = random.Random(9); box = ["alice", "bert", "carla"]
with tarfile.open(w + "/mail.tar", "w") as t:
    for i in range(9900):
        b = bytes(r.randrange(32, 127) for _ in range(r.randrange(40, 400)))
        x = tarfile.TarInfo(f"{box[i % 3]}/{1700000000 + i * 7}.M{r.randrange(10**6):06d}P{r.randrange(2000, 30000)}.mx{r.randrange(1, 9)}.example.test,S={len(b)}")
        x.size = len(b); x.mtime = 1700000000
        t.addfile(x, io.BytesIO(b))
P
for k in 1 2; do
  o=dir_index; [ $k = 2 ] && o=^dir_index
  truncate -s 200M $w/$k.img
  mkfs.ext4 -q -F -N 40000 -O $o -E lazy_itable_init=0 $w/$k.img
  mount -o loop,noatime $w/$k.img $w/$k
done
