#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c173; mkdir -p $w/1 $w/2
cp "$here/tally.pl" $w/1/; cp "$here/tally.pl" $w/2/
perl -e 'my $x = 12345; sub r { $x = ($x * 1103515245 + 12345) % 2147483648; int($x / 65536) % $_[0] }
  for my $i (1 .. 640000) { printf "%d\tu%d.dep%d\@example.test\t%d\t%d\n", $i, r(300), r(40), r(1000), 1700000000 + r(32000) * 9 }' > $w/1/data
cp $w/1/data $w/2/data
# the two environments
echo "export PERL5LIB=$w/1/lib0" > $w/1/env; mkdir -p $w/1/lib0
{
  p=; for i in $(seq 0 119); do mkdir -p $w/2/lib$i; p=$p${p:+:}$w/2/lib$i; done
  echo "export PERL5LIB=$p"
  for i in $(seq 1 250); do echo "export APP_OPTION_$i='value of option number $i for the tally'"; done
  echo "ulimit -c unlimited"
} > $w/2/env
# an older copy of everything lies about as well
for i in $(seq 1 3000); do echo $i > $w/2/lib7/old-$i.pm; done
