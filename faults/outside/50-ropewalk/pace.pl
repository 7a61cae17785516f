# takes a sample every 0.3 ms
use strict; my $n = 0; my $s = 0;
while ($n++ < 2500) {
    open my $f, '<', '/proc/self/stat' or die; my @a = split ' ', <$f>; close $f; $s += $a[13];
    select undef, undef, undef, 0.0003;
}
print "$s\n";
