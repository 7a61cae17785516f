#!/bin/bash
set -e
D=/var/tmp/c90; rm -rf $D; mkdir -p $D/data; cd $D
chown -R mysql $D
mariadb-install-db --no-defaults --user=mysql --datadir=$D/data --auth-root-authentication-method=normal >/dev/null 2>&1
mariadbd --no-defaults --user=mysql --datadir=$D/data --socket=$D/my.sock --skip-networking --pid-file=$D/my.pid --innodb-buffer-pool-size=64M --log-error=$D/err.log </dev/null >/dev/null 2>&1 & echo $! > pids
for i in $(seq 100); do mariadb --no-defaults -S $D/my.sock -u root -e 'select 1' >/dev/null 2>&1 && break; sleep 0.2; done
perl -e 'use List::Util "shuffle"; for $db ("louvre","prado") { srand length $db; print "create database $db; use $db; create table item(id int primary key, hall int, name varchar(40), worth int, key(hall));\n"; @r = map { "($_,".($_%300).",\"work $_\",".($_*37%5000).")" } 1..40000; @r = shuffle @r if $db eq "prado"; while (@r) { print "insert into item values ", join(",", splice @r,0,2000), ";\n" } print "analyze table item;\n" }' | mariadb --no-defaults -S $D/my.sock -u root >/dev/null
perl -e 'use List::Util "shuffle"; for $n (1,2) { srand $n; open F,">","q$n.sql"; for (shuffle 1..1200) { $h=$_%300; print F $n==1 ? "select count(*), sum(worth) from item where hall = $h and worth > 100;\n" : "select count(*), sum(worth) from item where worth > 100 and hall in ($h);\n" } close F }'
chmod 644 q1.sql q2.sql
