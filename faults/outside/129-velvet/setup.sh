#!/bin/bash
set -e
D=/var/tmp/c129; mkdir -p $D; cd $D; : > pids
ulimit -n 8192
memcached -u nobody -l 127.0.0.1 -p 21291 -U 0 -t 1 -m 64 > m1.log 2>&1 &
echo $! >> pids
memcached -u nobody -l 127.0.0.1 -p 21292 -U 0 -t 1 -m 256 -c 6000 -R 40 > m2.log 2>&1 &
echo $! >> pids
sleep 1
cat > ask.pl <<'X'
use IO::Socket::INET;
my $c=IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>shift) or die $!;
my $n=0; my $b='';
for my $r (1..5000){
  print $c "get ".join(" ",map{"key".(($r*37+$_*11)%2000)} 1..60)."\r\n"; $c->flush;
  $b=''; while(substr($b,-5) ne "END\r\n"){ sysread($c,$b,1<<18,length $b) or die }
  my @v=split /\r\n/,$b; for(my $i=0;$i<$#v;$i+=2){ my(undef,$k,$f,$l)=split / /,$v[$i]; $n+=$l if length $v[$i+1]==$l }
}
print "$n\n";
X
cat > fill.pl <<'X'
use IO::Socket::INET;
for my $p (@ARGV){ my $c=IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>$p) or die $!;
 for(0..1999){ my $v="v$_," x 20; print $c "set key$_ 0 0 ".length($v)."\r\n$v\r\n"; $c->flush; <$c> } }
X
perl fill.pl 21291 21292
cat > hold.pl <<'X'
use IO::Socket::INET; my($p,$n)=@ARGV; my @c;
for(1..$n){ push @c, IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>$p)||die $! }
sleep 1000 while 1;
X
perl hold.pl 21292 2500 > hold.log 2>&1 &
echo $! >> pids
sleep 1
