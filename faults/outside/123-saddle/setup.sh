#!/bin/bash
set -e
D=/var/tmp/c123; mkdir -p $D/run; cd $D; : > pids
mkzone(){ # name, number for signzone
  perl -e 'my $z=shift; print "\$TTL 300\n@ SOA ns.$z. root.$z. 1 3600 600 86400 300\n@ NS ns\nns A 127.0.0.1\n"; print "host$_ A 10.0.".int($_/250).".".(1+$_%250)."\n" for 1..500' $1 > $1.zone
  dnssec-keygen -q -K $D -a ECDSAP256SHA256 -f KSK -n ZONE $1 > k.$1
  dnssec-keygen -q -K $D -a ECDSAP256SHA256 -n ZONE $1 >> k.$1
  for k in $(cat k.$1); do echo "\$INCLUDE $D/$k.key" >> $1.zone; done
  dnssec-signzone -q -K $D -3 5a17c0de -H $2 -o $1 -f $1.signed $1.zone > /dev/null 2> sign.$1
  perl -e 'srand 9; my $z=shift; print join("",map{chr(97+rand 26)}1..10).".$z A\n" for 1..20000' $1 > ask.$1
}
mkzone north 0; mkzone south 150
cat > named.conf <<X
options { directory "$D/run"; listen-on port 21230 { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file "$D/run/pid"; session-keyfile "$D/run/sk";
 managed-keys-directory "$D/run"; dnssec-validation no; minimal-responses no; };
controls { };
zone "north" { type primary; file "$D/north.signed"; };
zone "south" { type primary; file "$D/south.signed"; };
X
cp "$(command -v named)" $D/named
./named -f -n 1 -c $D/named.conf > out 2>&1 &
echo $! >> pids
for i in $(seq 100); do dig +time=1 +tries=1 @127.0.0.1 -p 21230 ns.south A +short 2>/dev/null | grep -q 127 && break; sleep 0.1; done
