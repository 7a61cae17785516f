#!/bin/bash
set -e
D=/var/tmp/c128; mkdir -p $D; cd $D; chmod 755 $D; : > pids
perl -e 'srand 2; my $b=join("",map{chr(32+rand 90)}1..65536); print $b for 1..4000' > data
cat > job.sh <<'X'
cat /var/tmp/c128/data | cat | md5sum
X
cat > pool.pl <<'X'
my $n=shift; my @p;
for(1..$n){ pipe(my $r,my $w) or die "$!"; push @p,$r,$w }
sleep 1000 while 1;
X
ulimit -n 8192
i=0
for n in 40 1400; do
  i=$((i+1))
  setpriv --reuid=2128$i --regid=2128$i --clear-groups perl pool.pl $n > pool$i.log 2>&1 &
  echo $! >> pids
done
sleep 0.5
