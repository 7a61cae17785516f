#!/bin/bash
set -e
D=/var/tmp/c100; mkdir -p $D/m; cd $D; : > pids
truncate -s 400M img
mkfs.ext4 -q -F -b 4096 -N 80000 img
mount -o loop,noatime img m
mkdir m/queue1 m/queue2
perl -e 'my $p="x" x 190; for my $i (1..60000){ open my $f,">","/var/tmp/c100/m/queue2/$p-$i" or die $!; close $f } for my $i (1..60000){ unlink "/var/tmp/c100/m/queue2/$p-$i" }'
for q in 1 2; do for i in $(seq 1200); do echo job $i > m/queue$q/job-$i; done; done
sync -f m
