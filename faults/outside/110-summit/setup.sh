#!/bin/bash
set -e
D=/var/tmp/c110; mkdir -p $D; cd $D; : > pids
perl -e 'srand(3); for my $r (1..1700){ my $s=join(",",map { sprintf("f%d=%s",$_,("alpha","beta","gamma","delta")[$_%4].int(rand(90000))) } 1..36); print "n$r;$s;end\n" }' > in1.txt
perl -CO -pe 's/^n/\x{e9}/' in1.txt > in2.txt
cat > tok.pl <<'X'
use strict; use warnings;
open my $f, '<:encoding(UTF-8)', $ARGV[0] or die $!;
my ($n, $w, $h) = (0, 0, 0);
while (my $l = <$f>) {
    chomp $l;
    my $len = length $l;
    my $tok = '';
    for (my $p = 0; $p < $len; $p++) {
        my $c = substr($l, $p, 1);
        my $nx = $p + 40 < $len ? substr($l, $p + 40, 1) : '';
        if ($c eq ',' || $c eq ';' || $c eq '=') { $n++; $w += length $tok; $tok = ''; $h++ if $nx eq ','; }
        else { $tok .= $c }
    }
}
print "$n $w $h\n";
X
