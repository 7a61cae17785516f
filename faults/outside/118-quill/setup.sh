#!/bin/bash
set -e
D=/var/tmp/c118; mkdir -p $D/in1 $D/in2; cd $D; : > pids
perl -e 'srand(3); for(1..700000){ printf "%08x %s %d %d\n", int(rand(4e9)), join("",map{chr(97+rand 26)}1..14), int(rand(1e7)), $_ }' > in1/list.txt
# second copy: written in small pieces, alternating with another file, in a directory with many files
perl -e 'my($s,$d,$n)=@ARGV; chdir $d; for(1..30000){ open my $f,">","item-$_" or die $!; close $f }
open my $i,"<",$s or die; open my $a,">",$n or die; open my $b,">","other" or die; use IO::Handle;
my $k=0; while(sysread $i,my $x,65536){ syswrite $a,$x; syswrite $b,$x; if(++$k%4==0){ $a->sync; $b->sync } }' \
  $D/in1/list.txt $D/in2 archive-of-the-second-half-year-0000000000000000000000000000001.list.txt
chmod 600 in2/archive*; touch -d 2019-03-04 in2/archive*
cmp in1/list.txt in2/archive*.list.txt
cat in1/list.txt in2/archive*.list.txt > $D/null.tmp; rm $D/null.tmp
