#!/bin/bash
d=/var/tmp/c82/west
for i in 1 2 3 4 5 6; do cp /var/tmp/c82/tiles.csv $d/tiles-$i.csv; done
sync -f $d
cat $d/tiles-*.csv | sha256sum
rm $d/tiles-*.csv
