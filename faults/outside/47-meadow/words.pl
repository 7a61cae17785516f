use strict; my %n; my $x = 17;
for my $i (1..1800000) { $x = ($x * 1103515245 + 12345) & 0x7fffffff; $n{$x % 5003} += length("$x"); }
my $s = 0; $s += $n{$_} for keys %n; print "$s\n";
