#!/bin/bash
set -e
D=/var/tmp/c79; rm -rf $D; mkdir -p $D; cd $D
perl -e 'srand 5; for (1..260000) { printf "%08x %s\n", int rand 4e9, join("", map { chr(97+int rand 26) } 1..20) }' > base.txt
shuf --random-source=<(yes 1) base.txt > patches-monday.txt
shuf --random-source=<(yes 2) base.txt > squares-friday.txt
cat > hum.pl <<'P'
use Time::HiRes qw(sleep time);
while (1) { my $t=time; my $x=0; while (time-$t < 0.05+rand 0.25) { $x=($x*31+7)%65521 for 1..2000 } sleep 0.1+rand 0.4 }
P
perl hum.pl </dev/null >/dev/null 2>&1 & echo $! > pids
