#!/bin/sh
set -e
w=/var/tmp/c145
[ -e $w/ok ] && exit 0
rm -rf $w; mkdir -p $w
python3 - $w <<'P'
import os, sys
w = sys.argv[1]
for k in (1, 2):
    d = f"{w}/{k}"; os.makedirs(d)
    if k == 2:
        for i in range(15000):
            open(f"{d}/spool-{i:06d}-{'x' * 60}.tmp", "w").close()
        for i in range(3000):
            os.symlink(f"spool-{i:06d}-{'x' * 60}.tmp", f"{d}/link{i}")
    for i in range(60):
        with open(f"{d}/doc{i:02d}.bin", "wb") as f:
            f.write(bytes((i * 31 + j * 7) & 255 for j in range(4096)) * 1024)
    open(f"{w}/{k}.list", "w").write("".join(f"doc{i:02d}.bin\n" for i in range(60)) * 4)
P
touch $w/ok
