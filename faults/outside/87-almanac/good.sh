#!/bin/bash
n=sun
cd /var/tmp/c87/$n
perl -ne '$c{$2.$1}++ if /^(\w+) (\w{3}).*\s(\w+)$/; END { print scalar(%c), "\n" }' days.txt
env $(cat ../$n.env) sort --parallel=1 -S 200M -k2,2 -o /dev/null days.txt
env $(cat ../$n.env) zstd -q -c --single-thread tides.txt | wc -l
