#!/bin/bash
set -e
D=/var/tmp/c116; mkdir -p $D/in $D/out "$D/night batch/bin"; cd $D; : > pids
cat > sum.rb <<'X'
h = 7
900.times { |r| 2600.times { |i| h = (h * 31 + i * r) & 0xffffffff } }
puts h
X
cp sum.rb "night batch/bin/aggregate.rb"
cp -L $(command -v openssl) "night batch/bin/sealer"
for i in 1 2 3 4; do head -c 24M /dev/urandom > in/f$i; done
