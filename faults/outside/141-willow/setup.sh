#!/bin/sh
set -e
w=/var/tmp/c141
rm -rf $w; mkdir -p $w
cp "$(dirname "$0")/job.rb" $w/
python3 - $w <<'P'
import os, sys
w = sys.argv[1]
dirs = []
for i in range(130):
    d = f"{w}/vendor/p{i:03d}/lib"
    os.makedirs(d)
    open(f"{d}/pkg{i:03d}.rb", "w").write(f"module Pkg{i:03d}; N = {i}; end\n")
    dirs.append(d)
app = f"{w}/app/lib"
os.makedirs(app)
for i in range(450):
    open(f"{app}/unit{i:03d}.rb", "w").write(f"module Unit{i:03d}\n  def self.call(x) = (x * {i + 3} + {i}) & 0xffffff\nend\n")
open(f"{w}/1.env", "w").write(f"RUBYLIB={':'.join([app] + dirs)}\nRUBYOPT=-W0\n")
open(f"{w}/2.env", "w").write(f"RUBYLIB={':'.join(dirs + [app])}\nRUBYOPT=-W0\nMALLOC_MMAP_THRESHOLD_=131072\n")
P
