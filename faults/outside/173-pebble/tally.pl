use strict; use warnings;
use Digest::MD5 qw(md5_hex); use List::Util qw(sum max); use Time::Local; use POSIX qw(floor); use Text::Wrap; use Getopt::Long; use File::Spec;
GetOptions('data=s' => \my $file) or die;
open my $in, '<', $file or die; my (%sum, %cnt, $sig);
while (my $l = <$in>) {
    my ($id, $who, $n, $when) = split /\t/, $l;
    next unless $who =~ /^(\w+)\.(\w+)@/;
    my ($a, $b) = ($1, $2);
    $sum{"$b/$a"} += $n; $cnt{$when % 86400 / 3600 | 0}++;
    $sig = md5_hex(($sig // '') . $l) if $id % 3 == 0;
}
my $best = (sort { $sum{$b} <=> $sum{$a} || $a cmp $b } keys %sum)[0];
print scalar(keys %sum), " $best $sum{$best} ", max(values %cnt), " $sig\n";
