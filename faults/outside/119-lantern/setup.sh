#!/bin/bash
set -e
D=/var/tmp/c119; mkdir -p $D/1 $D/2; cd $D; : > pids
cat > agent.pl <<'X'
use IO::Socket::INET; use IO::Select;
my($port,$file)=@ARGV; open my $f,"<",$file or die; my @l=<$f>; chomp @l;
my $s=IO::Select->new;
for my $l (@l){ my $c=IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>$port) or die $!; print $c "$l\r\n"; $s->add($c) }
while(1){ for my $c ($s->can_read(60)){ sysread($c,my $b,1<<20) or exit } }
X
for i in 1 2 3 4 5 6 7 8; do echo "SUBSCRIBE events$i" >> list1; echo "MONITOR" >> list2; done
for n in 1 2; do
  redis-server --port 2119$n --bind 127.0.0.1 --dir $D/$n --save '' --appendonly no --daemonize no > $D/$n/log 2>&1 &
  echo $! >> pids
done
for n in 1 2; do
  for i in $(seq 100); do redis-cli -p 2119$n ping >/dev/null 2>&1 && break; sleep 0.1; done
  perl agent.pl 2119$n list$n > /dev/null 2>&1 &
  echo $! >> pids
done
sleep 1
