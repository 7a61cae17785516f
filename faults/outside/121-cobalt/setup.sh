#!/bin/bash
set -e
D=/var/tmp/c121; mkdir -p $D/cgi; cd $D; : > pids
cat > cgi/quote <<'X'
#!/usr/bin/perl
select(undef,undef,undef,0.06);
print "Content-Type: text/plain\r\nContent-Length: 6\r\n\r\n 12.5\n";
X
chmod 755 cgi/quote
cat > dash.pl <<'X'
use IO::Socket::INET;
my($port,$n)=@ARGV; my @c;
for(1..$n){ push @c, IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>$port) || die $! }
while(1){ for my $c (@c){ print $c "GET /cgi/none HTTP/1.1\r\nHost: x\r\n\r\n"; sysread($c,my $b,65536) or exit } sleep 50 }
X
M=/usr/lib/apache2/modules
for n in 1 2; do
  mkdir -p $D/$n; W=24; [ $n = 2 ] && W=7
  cat > $D/$n/httpd.conf <<X
ServerRoot $D/$n
ServerName localhost
Listen 127.0.0.1:2121$n
PidFile $D/$n/pid
DefaultRuntimeDir $D/$n
ErrorLog $D/$n/error.log
LoadModule mpm_prefork_module $M/mod_mpm_prefork.so
LoadModule authz_core_module $M/mod_authz_core.so
LoadModule alias_module $M/mod_alias.so
LoadModule cgi_module $M/mod_cgi.so
User www-data
Group www-data
StartServers $W
MinSpareServers 1
MaxSpareServers $W
ServerLimit $W
MaxRequestWorkers $W
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 300
ScriptAlias /cgi/ $D/cgi/
<Directory $D/cgi>
Require all granted
</Directory>
X
  setsid apache2 -f $D/$n/httpd.conf -DFOREGROUND > $D/$n/out 2>&1 &
  echo $! >> pids
done
sleep 2
for n in 1 2; do
  perl dash.pl 2121$n 4 > /dev/null 2>&1 &
  echo $! >> pids
done
sleep 1
