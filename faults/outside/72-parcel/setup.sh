#!/bin/bash
set -e
D=/var/tmp/c72; rm -rf $D; mkdir -p $D/one $D/two; cd $D
truncate -s 256M one.img two.img
mkfs.ext4 -q -F -N 80000 one.img
mkfs.ext4 -q -F -N 80000 -O ^dir_index two.img
for n in one two; do
  mount -o loop,noatime $n.img $n
  mkdir $n/spool
  perl -e 'for (1..9000) { open my $f, ">", sprintf("'$n'/spool/msg-%06d.eml",$_) or die }'
done
cat > take.pl <<'P'
my $d = shift;
for my $i (1..1800) { my $p = sprintf("%s/spool/new-%05d.eml", $d, $i*37%9973); open(my $f, ">", $p) or die; print $f "Subject: parcel $i\n\n" . "x" x 200; close $f; }
for my $i (1..1800) { my $p = sprintf("%s/spool/new-%05d.eml", $d, $i*37%9973); unlink $p or die }
my $s = 0; for my $i (1..5000000) { $s = ($s*31+$i) % 65521 } print "$s\n";
P
sync -f one; sync -f two
