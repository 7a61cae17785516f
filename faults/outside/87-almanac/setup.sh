#!/bin/bash
set -e
D=/var/tmp/c87; rm -rf $D; mkdir -p $D/sun $D/moon $D/loc; cd $D
localedef -i en_US -f UTF-8 $D/loc/en_US.UTF-8
perl -e 'srand 4; for (1..280000) { printf "%s %s %08d %s\n", ("Mars","venus","Io","luna")[rand 4], join("", map { chr(97+int rand 26) } 1..18), int rand 1e8, "y" x 16 }' > days.txt
perl -e 'srand 6; for (1..200000) { printf "%s rises %02d:%02d sets %02d:%02d\n", ("Mars","venus","Io","luna")[rand 4], map { int rand 24, int rand 60 } 1,2 }' > tides.txt
for n in sun moon; do cp days.txt tides.txt $n/; done
printf 'LOCPATH=/var/tmp/c87/loc\nLC_ALL=C\nZSTD_CLEVEL=5\n' > sun.env
printf 'LOCPATH=/var/tmp/c87/loc\nLC_ALL=en_US.UTF-8\nZSTD_CLEVEL=9\n' > moon.env
