#!/bin/bash
set -e
D=/var/tmp/c92; rm -rf $D; mkdir -p $D/rye $D/oat; cd $D
for n in rye oat; do truncate -s 200M $n.img; mkfs.ext4 -q -F -L $n $n.img; done
mount -o loop,noatime rye.img rye
mount -o loop,relatime,errors=continue oat.img oat
cat > fill.pl <<'P'
use IO::Handle;
my ($d,$seed,$pre)=@ARGV; srand $seed; my @i=sort { rand() <=> 0.5 } 1..160; my $t=0;
for my $i (@i) { open(my $f,">","$d/$pre-$i.dat") or die $!; for (1..40) { my $b=chr(97+$i%26) x 2048; print $f $b; $t+=length $b } $f->flush; $f->sync if $i%4==0; close $f }
for my $i (@i) { open(my $f,"<","$d/$pre-$i.dat") or die $!; local $/; my $x=<$f>; $t+=length $x; close $f; unlink "$d/$pre-$i.dat" }
my $s=0; $s=($s*31+$_)%65521 for 1..2500000; print "$t $s\n";
P
